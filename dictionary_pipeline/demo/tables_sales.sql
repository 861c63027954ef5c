-- Customers, what they ordered and how they paid.
CREATE SCHEMA sales;

CREATE TYPE sales.order_status AS ENUM ('placed', 'paid', 'shipped', 'completed', 'cancelled');
CREATE TYPE sales.return_reason AS ENUM ('too_small', 'too_large', 'damaged', 'not_as_described', 'changed_mind');

CREATE TABLE sales.customer (
    customer_id INTEGER PRIMARY KEY,
    first_name VARCHAR NOT NULL,
    last_name VARCHAR NOT NULL,
    email VARCHAR NOT NULL UNIQUE,
    phone VARCHAR,
    birth_date DATE,
    password_hash VARCHAR,
    loyalty_tier VARCHAR NOT NULL CHECK (loyalty_tier IN ('none', 'bronze', 'silver', 'gold')),
    accepts_marketing BOOLEAN NOT NULL DEFAULT false,
    referred_by INTEGER REFERENCES sales.customer (customer_id),
    registered_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE sales.customer IS 'People who have an account in the web shop or a loyalty card.';
COMMENT ON COLUMN sales.customer.customer_id IS 'Number on the loyalty card.';
COMMENT ON COLUMN sales.customer.email IS 'Address for order confirmations; also the login.';
COMMENT ON COLUMN sales.customer.phone IS 'For questions about a delivery.';
COMMENT ON COLUMN sales.customer.birth_date IS 'For the birthday voucher; voluntary.';
COMMENT ON COLUMN sales.customer.password_hash IS 'Hash of the web shop password; empty for customers with a card only.';
COMMENT ON COLUMN sales.customer.loyalty_tier IS 'Tier of the loyalty programme, set every January by last year''s revenue.';
COMMENT ON COLUMN sales.customer.accepts_marketing IS 'Whether the customer agreed to newsletters.';
COMMENT ON COLUMN sales.customer.referred_by IS 'Customer whose invitation brought this one.';
COMMENT ON COLUMN sales.customer.registered_at IS 'When the account was opened, UTC.';

CREATE TABLE sales.customer_address (
    address_id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES sales.customer (customer_id),
    recipient VARCHAR NOT NULL,
    street VARCHAR NOT NULL,
    postal_code VARCHAR NOT NULL,
    city VARCHAR NOT NULL,
    country_code VARCHAR NOT NULL
);
COMMENT ON TABLE sales.customer_address IS 'Postal addresses that customers keep in their account.';
COMMENT ON COLUMN sales.customer_address.recipient IS 'Name on the parcel.';
COMMENT ON COLUMN sales.customer_address.postal_code IS 'Postal code in the format of the country.';
COMMENT ON COLUMN sales.customer_address.country_code IS 'Country of the address.';

CREATE TABLE sales.payment_card (
    card_id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES sales.customer (customer_id),
    card_brand VARCHAR NOT NULL CHECK (card_brand IN ('amex', 'mastercard', 'visa')),
    card_number VARCHAR NOT NULL,
    holder_name VARCHAR NOT NULL,
    expires_on DATE NOT NULL
);
COMMENT ON TABLE sales.payment_card IS 'Cards that customers saved for their next order.';
COMMENT ON COLUMN sales.payment_card.card_brand IS 'Card network.';
COMMENT ON COLUMN sales.payment_card.card_number IS 'Full card number, for recurring charges only.';
COMMENT ON COLUMN sales.payment_card.holder_name IS 'Name on the card.';
COMMENT ON COLUMN sales.payment_card.expires_on IS 'Last day on which the card can be charged.';

CREATE TABLE sales.promotion (
    promotion_code VARCHAR PRIMARY KEY,
    promotion_name VARCHAR NOT NULL,
    discount_percent INTEGER NOT NULL CHECK (discount_percent BETWEEN 1 AND 70),
    starts_on DATE NOT NULL,
    ends_on DATE NOT NULL
);
COMMENT ON TABLE sales.promotion IS 'Campaigns that take a percentage off an order.';
COMMENT ON COLUMN sales.promotion.promotion_code IS 'What the customer types in at the checkout.';
COMMENT ON COLUMN sales.promotion.discount_percent IS 'Percentage taken off every line.';
COMMENT ON COLUMN sales.promotion.starts_on IS 'First day.';
COMMENT ON COLUMN sales.promotion.ends_on IS 'Last day, included.';

CREATE TABLE sales.sales_order (
    order_id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES sales.customer (customer_id),
    status sales.order_status NOT NULL,
    channel VARCHAR NOT NULL CHECK (channel = 'web' OR channel = 'store' OR channel = 'phone'),
    store_id INTEGER,
    sold_by INTEGER,
    shipping_address_id INTEGER REFERENCES sales.customer_address (address_id),
    billing_address_id INTEGER REFERENCES sales.customer_address (address_id),
    promo_code VARCHAR,
    ordered_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE sales.sales_order IS 'Orders of all channels; a purchase at a till is an order too.';
COMMENT ON COLUMN sales.sales_order.order_id IS 'Order number the customer sees.';
COMMENT ON COLUMN sales.sales_order.status IS 'How far the order has come; cancelled orders are never deleted.';
COMMENT ON COLUMN sales.sales_order.channel IS 'Where the order was placed.';
COMMENT ON COLUMN sales.sales_order.store_id IS 'Shop of a store order; empty for web and phone.';
COMMENT ON COLUMN sales.sales_order.sold_by IS 'Employee who served the customer; empty for web orders.';
COMMENT ON COLUMN sales.sales_order.shipping_address_id IS 'Where the parcel goes; empty for store orders.';
COMMENT ON COLUMN sales.sales_order.billing_address_id IS 'Where the invoice goes; empty for store orders.';
COMMENT ON COLUMN sales.sales_order.promo_code IS 'Promotion the customer used, if any.';
COMMENT ON COLUMN sales.sales_order.ordered_at IS 'When the order was placed, UTC.';

CREATE TABLE sales.order_line (
    order_id INTEGER NOT NULL REFERENCES sales.sales_order (order_id),
    line_no INTEGER NOT NULL,
    product_id INTEGER NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_price DECIMAL(10, 2) NOT NULL,
    discount_amount DECIMAL(10, 2) NOT NULL DEFAULT 0,
    line_total DECIMAL(12, 2) GENERATED ALWAYS AS (quantity * unit_price - discount_amount) VIRTUAL,
    PRIMARY KEY (order_id, line_no)
);
COMMENT ON TABLE sales.order_line IS 'One product in one order.';
COMMENT ON COLUMN sales.order_line.line_no IS 'Position within the order, from 1.';
COMMENT ON COLUMN sales.order_line.product_id IS 'What was sold.';
COMMENT ON COLUMN sales.order_line.quantity IS 'Pieces sold; returns do not lower it.';
COMMENT ON COLUMN sales.order_line.unit_price IS 'List price per piece in euro on the day of the order, VAT included.';
COMMENT ON COLUMN sales.order_line.discount_amount IS 'Euro taken off the whole line.';
COMMENT ON COLUMN sales.order_line.line_total IS 'What the customer pays for the line, in euro.';

CREATE TABLE sales.return_line (
    return_id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL,
    line_no INTEGER NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    reason sales.return_reason NOT NULL,
    refund_amount DECIMAL(10, 2) NOT NULL,
    returned_at TIMESTAMP NOT NULL,
    FOREIGN KEY (order_id, line_no) REFERENCES sales.order_line (order_id, line_no)
);
COMMENT ON TABLE sales.return_line IS 'Goods that customers sent or brought back.';
COMMENT ON COLUMN sales.return_line.quantity IS 'Pieces sent back.';
COMMENT ON COLUMN sales.return_line.reason IS 'Reason the customer ticked.';
COMMENT ON COLUMN sales.return_line.refund_amount IS 'Euro paid back.';
COMMENT ON COLUMN sales.return_line.returned_at IS 'When the goods arrived, UTC.';

CREATE TABLE sales.payment (
    payment_id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES sales.sales_order (order_id),
    method VARCHAR NOT NULL CHECK (method IN ('card', 'cash', 'gift_card', 'invoice')),
    card_id INTEGER REFERENCES sales.payment_card (card_id),
    amount DECIMAL(12, 2) NOT NULL,
    paid_at TIMESTAMP NOT NULL
);

CREATE INDEX sales_order_customer_idx ON sales.sales_order (customer_id);
