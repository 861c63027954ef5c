-- 3,000 customers, 40,000 orders and their 100,000 lines, from January 2022 to December 2024.
CREATE TEMP TABLE customers AS
SELECT
    id,
    pick(getvariable('first_names'), id, 'first') AS first_name,
    pick(getvariable('last_names'), id, 'last') AS last_name,
    lower(regexp_replace(strip_accents(first_name || '.' || last_name), '[^\w.]', '', 'g')) || id
    || pick(['@example.com', '@example.org', '@example.net'], id, 'mail') AS email,
    CASE WHEN roll(id, 'phone?', 5) > 0 THEN printf('+00 555 01%02d %04d', roll(id, 'phone', 100), id) END AS phone,
    CASE WHEN roll(id, 'born?', 4) > 0 THEN DATE '1945-01-01' + roll(id, 'born', 22500) END AS birth_date,
    CASE WHEN roll(id, 'card only', 6) > 0 THEN '$demo$' || sha256('password of ' || id) END AS password_hash,
    pick(['none', 'none', 'none', 'bronze', 'bronze', 'silver', 'gold'], id, 'tier') AS loyalty_tier,
    roll(id, 'marketing', 3) = 0 AS accepts_marketing,
    CASE WHEN id > 500 AND roll(id, 'referred', 5) = 0 THEN 1 + roll(id, 'by', 500) END AS referred_by,
    TIMESTAMP '2018-05-01 07:00:00' + to_minutes(id * 600 + roll(id, 'registered', 590)) AS registered_at
FROM numbers(1, 3000) AS numbers(id);
INSERT INTO sales.customer SELECT * FROM customers WHERE id <= 500;
INSERT INTO sales.customer SELECT * FROM customers WHERE id > 500;

-- Address n belongs to customer n; every third customer has a second one, 3000 + n / 3.
INSERT INTO sales.customer_address
SELECT
    address_id,
    id,
    first_name || ' ' || last_name,
    pick(getvariable('streets'), address_id, 'street') || ' ' || (1 + roll(address_id, 'house', 180)),
    printf('%05d', 10000 + roll(address_id, 'zip', 89999)),
    place.city,
    place.country
FROM (
    SELECT *, id AS address_id, pick(getvariable('places'), id, 'home') AS place FROM customers
    UNION ALL
    SELECT *, 3000 + id // 3 AS address_id, pick(getvariable('places'), id, 'office') AS place
    FROM customers WHERE id % 3 = 0
)
ORDER BY address_id;

-- Every other customer saved a card. The numbers pass the check-digit test but belong to nobody.
CREATE TEMP MACRO luhn_sum(digits) AS list_sum(list_transform(
    range(1, len(digits) + 1),
    lambda i: CASE
        WHEN (len(digits) - i) % 2 = 1 THEN digits[i]::INTEGER
        ELSE digits[i]::INTEGER * 2 - CASE WHEN digits[i]::INTEGER > 4 THEN 9 ELSE 0 END
    END
));
INSERT INTO sales.payment_card
SELECT
    id // 2,
    id,
    brand,
    stem || ((10 - luhn_sum(stem) % 10) % 10),
    upper(strip_accents(first_name || ' ' || last_name)),
    last_day(DATE '2025-01-01' + 30 * roll(id, 'expiry', 48))
FROM (
    SELECT
        *,
        pick(['visa', 'visa', 'mastercard', 'mastercard', 'amex'], id, 'brand') AS brand,
        CASE brand
            WHEN 'visa' THEN printf('40000000%07d', id * 37)
            WHEN 'mastercard' THEN printf('55000000%07d', id * 41)
            ELSE printf('3700000%07d', id * 43)
        END AS stem
    FROM customers WHERE id % 2 = 0
)
ORDER BY id;

INSERT INTO sales.promotion VALUES
    ('SPRING22', 'Spring 2022', 10, DATE '2022-03-15', DATE '2022-04-15'),
    ('SUMMER22', 'Summer sale 2022', 20, DATE '2022-07-01', DATE '2022-07-31'),
    ('WINTER22', 'Winter sale 2022', 25, DATE '2022-12-27', DATE '2023-01-15'),
    ('SPRING23', 'Spring 2023', 10, DATE '2023-03-15', DATE '2023-04-15'),
    ('SUMMER23', 'Summer sale 2023', 20, DATE '2023-07-01', DATE '2023-07-31'),
    ('WINTER23', 'Winter sale 2023', 30, DATE '2023-12-27', DATE '2024-01-15'),
    ('SUMMER24', 'Summer sale 2024', 20, DATE '2024-07-01', DATE '2024-07-31'),
    ('WELCOME', 'First order of a new customer', 15, DATE '2022-01-01', DATE '2024-12-31');

CREATE TEMP TABLE orders AS
SELECT
    id,
    1 + skewed(id, 'customer', 3000) AS customer_id,
    TIMESTAMP '2022-01-02 06:00:00' + to_minutes(id * 39 + roll(id, 'minute', 39)) AS ordered_at,
    pick(['web', 'web', 'web', 'web', 'web', 'store', 'store', 'store', 'store', 'phone'], id, 'channel') AS channel,
    CASE WHEN channel = 'store' THEN 1 + roll(id, 'store', 24) END AS store_id,
    CASE channel WHEN 'store' THEN 9 + store_id WHEN 'phone' THEN 9 END AS sold_by,
    roll(id, 'cancelled', 25) = 0 AS is_cancelled,
    CASE WHEN roll(id, 'promo?', 9) = 0 THEN 'WELCOME' END AS welcome
FROM numbers(1, 40000) AS numbers(id);

INSERT INTO sales.sales_order
SELECT
    o.id,
    o.customer_id,
    CASE
        WHEN o.is_cancelled THEN 'cancelled'
        WHEN o.channel = 'store' OR o.id < 39500 THEN 'completed'
        ELSE pick(['placed', 'paid', 'shipped'], o.id, 'status')
    END::sales.order_status,
    o.channel,
    o.store_id,
    o.sold_by,
    CASE
        WHEN o.channel = 'store' THEN NULL
        WHEN o.customer_id % 3 = 0 AND o.id % 2 = 0 THEN 3000 + o.customer_id // 3
        ELSE o.customer_id
    END,
    CASE WHEN o.channel <> 'store' THEN o.customer_id END,
    coalesce(p.promotion_code, o.welcome),
    o.ordered_at
FROM orders AS o
LEFT JOIN sales.promotion AS p
    ON o.ordered_at::DATE BETWEEN p.starts_on AND p.ends_on AND p.promotion_code <> 'WELCOME'
ORDER BY o.id;

-- One to four lines an order, 2.5 on average.
INSERT INTO sales.order_line
SELECT order_id, line_no, line.product_id, quantity, list_price,
    coalesce((quantity * list_price * discount_percent / 100)::DECIMAL(10, 2), 0)
FROM (
    SELECT
        o.order_id,
        numbers.line_no,
        1 + skewed(o.order_id * 4 + numbers.line_no, 'product', 600) AS product_id,
        pick([1, 1, 1, 1, 1, 1, 2, 2, 3, 4], o.order_id * 4 + numbers.line_no, 'quantity') AS quantity,
        o.promo_code,
        CASE
            WHEN o.ordered_at < '2023-03-01' THEN DATE '2019-01-01'
            WHEN o.ordered_at < '2024-03-01' THEN DATE '2023-03-01'
            ELSE DATE '2024-03-01'
        END AS price_day
    FROM sales.sales_order AS o, numbers(1, 4) AS numbers(line_no)
    WHERE numbers.line_no <= 1 + (o.order_id * 7) % 4
) AS line
INNER JOIN merchandise.product_price AS price
    ON line.product_id = price.product_id AND line.price_day = price.valid_from
LEFT JOIN sales.promotion AS promotion ON line.promo_code = promotion.promotion_code
ORDER BY order_id, line_no;

INSERT INTO sales.return_line
SELECT
    row_number() OVER (ORDER BY l.order_id, l.line_no),
    l.order_id,
    l.line_no,
    1,
    pick(['too_small', 'too_small', 'too_large', 'damaged', 'not_as_described', 'changed_mind'],
        l.order_id * 4 + l.line_no, 'reason')::sales.return_reason,
    (l.line_total / l.quantity)::DECIMAL(10, 2),
    o.ordered_at + to_days(3 + roll(l.order_id, 'returned', 25))
FROM sales.order_line AS l
INNER JOIN sales.sales_order AS o ON l.order_id = o.order_id
WHERE o.status = 'completed' AND roll(l.order_id * 4 + l.line_no, 'return', 18) = 0;

INSERT INTO sales.payment
SELECT
    row_number() OVER (ORDER BY s.order_id),
    s.order_id,
    method,
    CASE WHEN method = 'card' AND s.customer_id % 2 = 0 THEN s.customer_id // 2 END,
    s.order_total,
    s.ordered_at + to_minutes(CASE WHEN s.channel = 'store' THEN 1 ELSE 1 + roll(s.order_id, 'pay', 2880) END)
FROM (
    SELECT
        *,
        CASE
            WHEN channel = 'store' THEN pick(['card', 'card', 'cash', 'gift_card'], order_id, 'till')
            ELSE pick(['card', 'card', 'card', 'invoice', 'gift_card'], order_id, 'method')
        END AS method
    FROM sales.order_summary
    WHERE status NOT IN ('cancelled', 'placed')
) AS s;
