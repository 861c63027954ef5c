-- Rows of logistics that need no other schema.
INSERT INTO logistics.country VALUES
    ('BE', 'Belgium', 'EUR', 21.00, true),
    ('CH', 'Switzerland', 'CHF', 8.10, false),
    ('DE', 'Germany', 'EUR', 19.00, true),
    ('DK', 'Denmark', 'DKK', 25.00, true),
    ('ES', 'Spain', 'EUR', 21.00, true),
    ('FR', 'France', 'EUR', 20.00, true),
    ('GB', 'United Kingdom', 'GBP', 20.00, false),
    ('IE', 'Ireland', 'EUR', 23.00, true),
    ('NL', 'Netherlands', 'EUR', 21.00, true);

-- 24 shops: every place has one, the first eight places have two. Manager of shop n is employee 9 + n.
INSERT INTO logistics.store
SELECT
    n,
    'Larkspur ' || place.city || CASE WHEN n > 16 THEN ' Outlet' ELSE '' END,
    place.city,
    place.country,
    CASE WHEN n > 16 THEN 'outlet' WHEN n % 8 = 3 THEN 'flagship' ELSE 'high_street' END,
    180 + 40 * roll(n, 'floor', 30),
    DATE '2009-03-01' + 150 * n + roll(n, 'opening', 100),
    9 + n
FROM (SELECT n, getvariable('places')[1 + (n - 1) % 16] AS place FROM numbers(1, 24));

INSERT INTO logistics.warehouse VALUES
    (1, 'Dublin Port', 'Dublin', 'IE', 4200),
    (2, 'Midlands Hub', 'Leeds', 'GB', 7800),
    (3, 'Rhine Gate', 'Utrecht', 'NL', 11500),
    (4, 'Iberia', 'Madrid', 'ES', 3600);

INSERT INTO logistics.carrier VALUES
    (1, 'Greenline Parcel', 'https://track.greenline.example/{number}', md5('carrier 1'), true),
    (2, 'NordPost', 'https://nordpost.example/trace?id={number}', md5('carrier 2'), true),
    (3, 'Velo City Couriers', 'https://velo.example/t/{number}', md5('carrier 3'), true),
    (4, 'Atlas Freight', 'https://atlas.example/tracking/{number}', md5('carrier 4'), true),
    (5, 'Pigeon & Sons', NULL, NULL, false);
