-- 600 products of 24 brands in 24 sub-categories, from 40 suppliers.
INSERT INTO merchandise.brand
SELECT n, name, 'https://' || lower(strip_accents(replace(name, ' ', '-'))) || '.example', n <= 2
FROM (
    SELECT
        n,
        CASE
            WHEN n = 1 THEN 'Larkspur'
            WHEN n = 2 THEN 'Larkspur Basics'
            ELSE getvariable('trails')[1 + n % 20] || CASE WHEN n <= 20 THEN ' Outfitters' ELSE ' & Co' END
        END AS name
    FROM numbers(1, 24)
);

INSERT INTO merchandise.category VALUES
    (1, NULL, 'Clothing', 1), (2, NULL, 'Footwear', 2), (3, NULL, 'Camping', 3), (4, NULL, 'Climbing', 4),
    (5, NULL, 'Cycling', 5), (6, NULL, 'Winter Sports', 6);
CREATE TEMP TABLE sub_category AS
SELECT
    6 + row_number() OVER () AS category_id, parent_id, article, prefix, sized, base_price
FROM (VALUES
    (1, 'Jacket', 'JKT', true, 129), (1, 'Fleece', 'FLC', true, 69), (1, 'Trousers', 'TRS', true, 79),
    (1, 'Base Layer', 'BSL', true, 45), (2, 'Hiking Boot', 'HKB', true, 159), (2, 'Trail Shoe', 'TRL', true, 119),
    (2, 'Sandal', 'SDL', true, 69), (2, 'Sock', 'SCK', true, 15), (3, 'Tent', 'TNT', false, 289),
    (3, 'Sleeping Bag', 'SLB', false, 149), (3, 'Stove', 'STV', false, 59), (3, 'Headlamp', 'HDL', false, 39),
    (4, 'Rope', 'RPE', false, 139), (4, 'Harness', 'HRN', true, 69), (4, 'Carabiner', 'CRB', false, 12),
    (4, 'Helmet', 'HLM', true, 65), (5, 'Bike Light', 'BKL', false, 35), (5, 'Pannier', 'PNR', false, 89),
    (5, 'Cycling Jersey', 'CYJ', true, 59), (5, 'Floor Pump', 'PMP', false, 45), (6, 'Ski Jacket', 'SKJ', true, 199),
    (6, 'Ski Goggles', 'GGL', false, 79), (6, 'Snowshoe', 'SNS', false, 129), (6, 'Glove', 'GLV', true, 39)
) AS articles(parent_id, article, prefix, sized, base_price);
INSERT INTO merchandise.category SELECT category_id, parent_id, article || 's', category_id - 6 FROM sub_category;

INSERT INTO merchandise.supplier
SELECT
    n,
    getvariable('last_names')[n] || ' ' || pick(['Textiles', 'Sports Supply', 'Trading', 'Manufacturing'], n, 'firm'),
    pick(getvariable('first_names'), n, 'contact') || ' ' || pick(getvariable('last_names'), n, 'contact last'),
    'orders@supplier' || n || '.example',
    printf('+00 555 01%02d %03d', n, roll(n, 'phone', 1000)),
    pick(getvariable('places'), n, 'supplier place').country,
    pick([14, 30, 30, 60], n, 'terms')
FROM numbers(1, 40);

CREATE TEMP TABLE assortment AS
SELECT
    n,
    c.*,
    CASE WHEN c.sized THEN pick(['XS', 'S', 'M', 'L', 'XL'], n, 'size') ELSE 'ONE' END AS size_code,
    c.base_price * (80 + roll(n, 'price', 60)) / 100 AS first_price
FROM numbers(1, 600)
INNER JOIN sub_category AS c ON c.category_id = 7 + n % 24;

INSERT INTO merchandise.product
SELECT
    n,
    printf('%s-%04d-%s', prefix, n, size_code),
    pick(getvariable('trails'), n, 'model') || ' ' || article,
    1 + skewed(n, 'brand', 24),
    category_id,
    size_code,
    CASE WHEN roll(n, 'colour?', 10) > 0 THEN pick(getvariable('colours'), n, 'colour') END,
    120 + 10 * roll(n, 'weight', 250),
    list_filter(['waterproof', 'recycled', 'vegan', 'lightweight'], lambda tag: roll(n, tag, 3) = 0),
    {'length_mm': 100 + roll(n, 'l', 500), 'width_mm': 80 + roll(n, 'w', 300), 'height_mm': 30 + roll(n, 'h', 200)},
    DATE '2019-02-01' + roll(n, 'launch', 1400),
    roll(n, 'gone', 9) = 0
FROM assortment
ORDER BY n;

INSERT INTO merchandise.product_price
SELECT n, day, (first_price * factor)::DECIMAL(10, 2)
FROM assortment, (VALUES
    (DATE '2019-01-01', 1.00), (DATE '2023-03-01', 1.05), (DATE '2024-03-01', 1.09)
) AS rise(day, factor)
ORDER BY n, day;

-- One or two suppliers a product; the second is always another one.
INSERT INTO merchandise.supplier_product
SELECT
    1 + (n * 7 + 11 * nth) % 40,
    n,
    printf('S%02d/%05d', 1 + (n * 7 + 11 * nth) % 40, n * 3 + nth),
    (first_price * (45 + roll(n, 'cost' || nth, 15)) / 100)::DECIMAL(10, 2),
    pick([7, 14, 21, 28, 45], n, 'lead' || nth)
FROM assortment, numbers(0, 1) AS numbers(nth)
WHERE nth = 0 OR n % 3 = 0
ORDER BY 1, 2;

INSERT INTO merchandise.product_review
SELECT
    n,
    1 + skewed(n, 'reviewed', 600),
    CASE WHEN roll(n, 'anonymous', 8) > 0 THEN 1 + roll(n, 'reviewer', 3000) END,
    pick([5, 5, 5, 4, 4, 4, 3, 2, 1], n, 'stars') AS rating,
    ['Not for me', 'Disappointing', 'Does the job', 'Good', 'Excellent'][rating],
    ['Broke on the second day.', 'Runs small and arrived late.', 'Fine for the price.', 'Comfortable and well made.',
        'Took it across the hills for a week. Would buy again.'][rating],
    TIMESTAMP '2022-01-05 08:00:00' + to_minutes(roll(n, 'reviewed at', 1500000))
FROM numbers(1, 4000);

INSERT INTO logistics.stock_level
SELECT
    warehouse_id,
    product_id,
    roll(product_id, 'stock' || warehouse_id, 120),
    10 + 5 * roll(product_id, 'reorder', 6),
    TIMESTAMP '2024-12-20 06:00:00' + to_minutes(roll(product_id, 'counted' || warehouse_id, 14400))
FROM logistics.warehouse, merchandise.product
ORDER BY warehouse_id, product_id;
