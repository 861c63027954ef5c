-- What is sold, who makes it and who supplies it.
CREATE SCHEMA merchandise;

CREATE TABLE merchandise.brand (
    brand_id INTEGER PRIMARY KEY,
    brand_name VARCHAR NOT NULL UNIQUE,
    website VARCHAR,
    is_own_brand BOOLEAN NOT NULL
);
COMMENT ON TABLE merchandise.brand IS 'Brands on the shelf.';
COMMENT ON COLUMN merchandise.brand.brand_name IS 'Name on the label.';
COMMENT ON COLUMN merchandise.brand.is_own_brand IS 'Whether the company itself has the goods made.';

CREATE TABLE merchandise.category (
    category_id INTEGER PRIMARY KEY,
    parent_id INTEGER REFERENCES merchandise.category (category_id),
    category_name VARCHAR NOT NULL,
    sort_order INTEGER NOT NULL
);
COMMENT ON TABLE merchandise.category IS 'Product categories as the web shop shows them, in a hierarchy of two levels.';
COMMENT ON COLUMN merchandise.category.parent_id IS 'Category above; empty for a top category.';
COMMENT ON COLUMN merchandise.category.category_name IS 'Heading in the menu of the web shop.';

CREATE TABLE merchandise.supplier (
    supplier_id INTEGER PRIMARY KEY,
    supplier_name VARCHAR NOT NULL UNIQUE,
    contact_name VARCHAR,
    contact_email VARCHAR,
    contact_phone VARCHAR,
    country_code VARCHAR NOT NULL,
    payment_terms_days INTEGER NOT NULL CHECK (payment_terms_days IN (14, 30, 60))
);
COMMENT ON TABLE merchandise.supplier IS 'Companies the goods are bought from.';
COMMENT ON COLUMN merchandise.supplier.contact_name IS 'Person to call about orders.';
COMMENT ON COLUMN merchandise.supplier.contact_email IS 'Address that purchase orders are sent to.';
COMMENT ON COLUMN merchandise.supplier.country_code IS 'Country of the registered office.';
COMMENT ON COLUMN merchandise.supplier.payment_terms_days IS 'Days between invoice and payment.';

CREATE TABLE merchandise.product (
    product_id INTEGER PRIMARY KEY,
    sku VARCHAR NOT NULL UNIQUE,
    product_name VARCHAR NOT NULL,
    brand_id INTEGER NOT NULL REFERENCES merchandise.brand (brand_id),
    category_id INTEGER NOT NULL REFERENCES merchandise.category (category_id),
    size_code VARCHAR NOT NULL CHECK (size_code IN ('XS', 'S', 'M', 'L', 'XL', 'ONE')),
    colour VARCHAR,
    weight_g INTEGER,
    tags VARCHAR[],
    package STRUCT(length_mm INTEGER, width_mm INTEGER, height_mm INTEGER),
    launched_on DATE NOT NULL,
    is_discontinued BOOLEAN NOT NULL DEFAULT false
);
COMMENT ON TABLE merchandise.product IS 'Sellable articles, one row per size and colour.';
COMMENT ON COLUMN merchandise.product.sku IS 'Stock keeping unit, printed on the label: category, number, size.';
COMMENT ON COLUMN merchandise.product.product_name IS 'Name on the label, without size and colour.';
COMMENT ON COLUMN merchandise.product.category_id IS 'Category the web shop shows it in, always of the second level.';
COMMENT ON COLUMN merchandise.product.size_code IS 'Size on the label; ONE for goods without sizes.';
COMMENT ON COLUMN merchandise.product.weight_g IS 'Weight with packaging in grams.';
COMMENT ON COLUMN merchandise.product.tags IS 'Properties that customers filter by.';
COMMENT ON COLUMN merchandise.product.package IS 'Outer measures of the box in millimetres.';
COMMENT ON COLUMN merchandise.product.launched_on IS 'First day on sale.';
COMMENT ON COLUMN merchandise.product.is_discontinued IS 'True when no more will be bought; stock is sold off.';

CREATE TABLE merchandise.product_price (
    product_id INTEGER NOT NULL REFERENCES merchandise.product (product_id),
    valid_from DATE NOT NULL,
    list_price DECIMAL(10, 2) NOT NULL CHECK (list_price > 0),
    PRIMARY KEY (product_id, valid_from)
);
COMMENT ON TABLE merchandise.product_price IS 'List prices in euro including VAT, with the day from which each holds.';
COMMENT ON COLUMN merchandise.product_price.valid_from IS 'First day of the price; it holds until the next one.';
COMMENT ON COLUMN merchandise.product_price.list_price IS 'Price per piece in euro, VAT included.';

CREATE TABLE merchandise.supplier_product (
    supplier_id INTEGER NOT NULL REFERENCES merchandise.supplier (supplier_id),
    product_id INTEGER NOT NULL REFERENCES merchandise.product (product_id),
    supplier_sku VARCHAR NOT NULL,
    unit_cost DECIMAL(10, 2) NOT NULL,
    lead_time_days INTEGER NOT NULL,
    PRIMARY KEY (supplier_id, product_id)
);
COMMENT ON TABLE merchandise.supplier_product IS 'Which supplier delivers which product, at what cost.';
COMMENT ON COLUMN merchandise.supplier_product.supplier_sku IS 'The supplier''s own article number.';
COMMENT ON COLUMN merchandise.supplier_product.unit_cost IS 'Purchase price per piece in euro, net.';
COMMENT ON COLUMN merchandise.supplier_product.lead_time_days IS 'Days from purchase order to delivery.';

-- Filled by an outside review service, which declares no keys to anything.
CREATE TABLE merchandise.product_review (
    review_id INTEGER PRIMARY KEY,
    product_id INTEGER NOT NULL,
    customer_id INTEGER,
    rating INTEGER NOT NULL CHECK (rating IN (1, 2, 3, 4, 5)),
    headline VARCHAR,
    body VARCHAR,
    reviewed_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE merchandise.product_review IS 'Ratings and texts that customers left in the web shop.';
COMMENT ON COLUMN merchandise.product_review.customer_id IS 'Author; empty for anonymous reviews.';
COMMENT ON COLUMN merchandise.product_review.rating IS 'Stars, 5 is best.';
COMMENT ON COLUMN merchandise.product_review.headline IS 'Title the customer gave.';
COMMENT ON COLUMN merchandise.product_review.reviewed_at IS 'When the review was sent, UTC.';

CREATE INDEX product_category_idx ON merchandise.product (category_id);
CREATE INDEX product_review_product_idx ON merchandise.product_review (product_id);
