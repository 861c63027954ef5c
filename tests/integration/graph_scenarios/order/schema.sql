CREATE TABLE customer (
    customer_no INTEGER PRIMARY KEY,
    company VARCHAR(60) NOT NULL,
    town VARCHAR(40)
);
CREATE TABLE sales_order (
    order_no INTEGER PRIMARY KEY,
    customer_no INTEGER NOT NULL,
    ordered_on DATE NOT NULL,
    CONSTRAINT order_customer FOREIGN KEY (customer_no) REFERENCES customer (customer_no)
);
INSERT INTO customer VALUES (401, 'Fjord Bakery', 'Bergen'), (402, 'Tide Cafe', 'Stavanger'), (403, 'Mole Kiosk', 'Bergen');
INSERT INTO sales_order VALUES (1, 402, '2026-03-02'), (2, 401, '2026-03-02'), (3, 402, '2026-03-05');
