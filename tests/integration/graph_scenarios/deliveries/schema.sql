CREATE TYPE stage AS ENUM ('announced', 'on_tour', 'handed_over', 'sent_back');
CREATE TABLE "Depot" (
    "DepotID" INTEGER PRIMARY KEY,
    "Town" VARCHAR NOT NULL
);
CREATE TABLE "Delivery" (
    "DeliveryID" INTEGER PRIMARY KEY,
    "DepotID" INTEGER NOT NULL REFERENCES "Depot" ("DepotID"),
    "Stage" stage NOT NULL,
    "Cooling" VARCHAR NOT NULL CHECK ("Cooling" IN ('none', 'chilled', 'frozen')),
    "NextDeliveryID" INTEGER,
    "Remark" VARCHAR
);
INSERT INTO "Depot" VALUES (3, 'Turku'), (5, 'Vaasa'), (8, 'Oulu');
INSERT INTO "Delivery"
SELECT
    7000 + 13 * i,
    [3, 5, 8][1 + i % 3],
    ['announced', 'on_tour', 'handed_over', 'sent_back'][1 + i % 4]::stage,
    ['none', 'chilled', 'frozen'][1 + i % 3],
    CASE WHEN i % 6 = 5 THEN NULL ELSE 7000 + 13 * (i + 1) END,
    CASE WHEN i % 10 = 0 THEN 'Ring twice.' END
FROM range(120) AS numbers (i);
