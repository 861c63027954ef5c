-- Where goods are kept and how they travel.
CREATE SCHEMA logistics;

CREATE TYPE logistics.shipment_status AS ENUM ('packing', 'handed_over', 'in_transit', 'delivered', 'lost');

CREATE TABLE logistics.country (
    country_code VARCHAR PRIMARY KEY CHECK (length(country_code) = 2),
    country_name VARCHAR NOT NULL UNIQUE,
    currency_code VARCHAR NOT NULL CHECK (currency_code IN ('CHF', 'DKK', 'EUR', 'GBP')),
    vat_percent DECIMAL(4, 2) NOT NULL,
    in_eu BOOLEAN NOT NULL
);
COMMENT ON TABLE logistics.country IS 'Countries the company sells to, with their currency and standard VAT rate.';
COMMENT ON COLUMN logistics.country.country_code IS 'ISO 3166-1 alpha-2 code.';
COMMENT ON COLUMN logistics.country.country_name IS 'English short name.';
COMMENT ON COLUMN logistics.country.currency_code IS 'ISO 4217 code of the currency that prices are shown in.';
COMMENT ON COLUMN logistics.country.vat_percent IS 'Standard VAT rate in percent.';
COMMENT ON COLUMN logistics.country.in_eu IS 'Whether shipments cross no customs border.';

CREATE TABLE logistics.store (
    store_id INTEGER PRIMARY KEY,
    store_name VARCHAR NOT NULL UNIQUE,
    city VARCHAR NOT NULL,
    country_code VARCHAR NOT NULL REFERENCES logistics.country (country_code),
    store_format VARCHAR NOT NULL CHECK (store_format IN ('flagship', 'high_street', 'outlet')),
    floor_area_m2 INTEGER CHECK (floor_area_m2 > 0),
    opened_on DATE NOT NULL,
    manager_id INTEGER
);
COMMENT ON TABLE logistics.store IS 'Shops that customers can walk into.';
COMMENT ON COLUMN logistics.store.store_name IS 'Name on the shop front.';
COMMENT ON COLUMN logistics.store.store_format IS 'Size class of the shop; decides the assortment it carries.';
COMMENT ON COLUMN logistics.store.floor_area_m2 IS 'Sales floor in square metres.';
COMMENT ON COLUMN logistics.store.opened_on IS 'First day of business.';
COMMENT ON COLUMN logistics.store.manager_id IS 'Employee who runs the shop.';

CREATE TABLE logistics.warehouse (
    warehouse_id INTEGER PRIMARY KEY,
    warehouse_name VARCHAR NOT NULL UNIQUE,
    city VARCHAR NOT NULL,
    country_code VARCHAR NOT NULL REFERENCES logistics.country (country_code),
    pallet_places INTEGER NOT NULL
);
COMMENT ON TABLE logistics.warehouse IS 'Distribution centres that hold stock and ship parcels.';
COMMENT ON COLUMN logistics.warehouse.warehouse_name IS 'Name the carriers know it by.';
COMMENT ON COLUMN logistics.warehouse.pallet_places IS 'Pallets that fit in.';

-- Deliberately without comments: the dictionary has to describe it from its structure.
CREATE TABLE logistics.carrier (
    carrier_id INTEGER PRIMARY KEY,
    carrier_name VARCHAR NOT NULL UNIQUE,
    tracking_url VARCHAR,
    api_token VARCHAR,
    is_active BOOLEAN NOT NULL
);

CREATE TABLE logistics.stock_level (
    warehouse_id INTEGER NOT NULL REFERENCES logistics.warehouse (warehouse_id),
    product_id INTEGER NOT NULL,
    on_hand INTEGER NOT NULL CHECK (on_hand >= 0),
    reorder_point INTEGER NOT NULL,
    counted_at TIMESTAMP,
    PRIMARY KEY (warehouse_id, product_id)
);
COMMENT ON TABLE logistics.stock_level IS 'Pieces of every product in every warehouse at the last count.';
COMMENT ON COLUMN logistics.stock_level.on_hand IS 'Pieces on the shelf, reserved ones included.';
COMMENT ON COLUMN logistics.stock_level.reorder_point IS 'Buy again when fewer pieces than this are left.';
COMMENT ON COLUMN logistics.stock_level.counted_at IS 'When the shelf was last counted, UTC.';

CREATE TABLE logistics.shipment (
    shipment_id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL,
    warehouse_id INTEGER NOT NULL REFERENCES logistics.warehouse (warehouse_id),
    carrier_id INTEGER NOT NULL REFERENCES logistics.carrier (carrier_id),
    status logistics.shipment_status NOT NULL,
    tracking_number VARCHAR UNIQUE,
    weight_kg DECIMAL(8, 3),
    shipped_at TIMESTAMP,
    delivered_at TIMESTAMP,
    CHECK (delivered_at IS NULL OR delivered_at >= shipped_at)
);
COMMENT ON TABLE logistics.shipment IS 'Parcels sent to customers for web and phone orders.';
COMMENT ON COLUMN logistics.shipment.shipment_id IS 'Parcel number, printed on the delivery note.';
COMMENT ON COLUMN logistics.shipment.order_id IS 'Order that the parcel belongs to.';
COMMENT ON COLUMN logistics.shipment.warehouse_id IS 'Warehouse that packed it.';
COMMENT ON COLUMN logistics.shipment.carrier_id IS 'Company that delivers it.';
COMMENT ON COLUMN logistics.shipment.status IS 'Where the parcel is on its way, from packing to delivered or lost.';
COMMENT ON COLUMN logistics.shipment.tracking_number IS 'Number to follow the parcel by; empty until the carrier has it.';
COMMENT ON COLUMN logistics.shipment.weight_kg IS 'Weight with packaging in kilograms.';
COMMENT ON COLUMN logistics.shipment.shipped_at IS 'When the carrier took the parcel, UTC.';
COMMENT ON COLUMN logistics.shipment.delivered_at IS 'When the carrier reported delivery, UTC; empty until then.';

CREATE TABLE logistics.shipment_line (
    shipment_id INTEGER NOT NULL REFERENCES logistics.shipment (shipment_id),
    shipment_line_no INTEGER NOT NULL,
    order_id INTEGER NOT NULL,
    order_line_no INTEGER NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (shipment_id, shipment_line_no)
);
COMMENT ON TABLE logistics.shipment_line IS 'Which order lines a parcel holds.';
COMMENT ON COLUMN logistics.shipment_line.order_line_no IS 'Line of the order; means something only together with the order number.';
COMMENT ON COLUMN logistics.shipment_line.quantity IS 'Pieces of the order line in this parcel.';
