CREATE SCHEMA plant;
CREATE TABLE plant.location (
    location_id INTEGER PRIMARY KEY,
    hall VARCHAR NOT NULL
);
COMMENT ON TABLE plant.location IS 'Halls of the saw mill in Umeå.';
CREATE TABLE plant.employee (
    employee_id INTEGER PRIMARY KEY,
    badge VARCHAR NOT NULL UNIQUE,
    supervisor_id INTEGER REFERENCES plant.employee (employee_id)
);
COMMENT ON TABLE plant.employee IS 'People on the payroll; supervisors are employees too.';
CREATE TABLE plant.shift (
    location_id INTEGER NOT NULL REFERENCES plant.location (location_id),
    starts_at TIMESTAMP NOT NULL,
    ends_at TIMESTAMP NOT NULL,
    worker_id INTEGER NOT NULL REFERENCES plant.employee (employee_id),
    deputy_id INTEGER REFERENCES plant.employee (employee_id),
    PRIMARY KEY (location_id, starts_at)
);
COMMENT ON TABLE plant.shift IS 'Who works where and when. A deputy takes over when the worker is ill.';
CREATE VIEW plant.roster AS
WITH places AS (SELECT location_id, hall FROM plant.location)
SELECT p.hall, s.starts_at, date_diff('hour', s.starts_at, s.ends_at) AS hours, e.badge AS worker
FROM plant.shift AS s
JOIN places AS p USING (location_id)
JOIN plant.employee AS e ON e.employee_id = s.worker_id;
CREATE VIEW plant.long_shift AS SELECT hall, worker FROM plant.roster WHERE hours > 8;
INSERT INTO plant.location VALUES (11, 'Debarking'), (12, 'Drying');
INSERT INTO plant.employee VALUES (501, 'B-17', NULL);
INSERT INTO plant.employee VALUES (502, 'B-40', 501), (503, 'B-41', 501);
INSERT INTO plant.shift VALUES
    (11, '2026-02-01 06:00:00', '2026-02-01 14:00:00', 502, 503),
    (12, '2026-02-01 06:00:00', '2026-02-01 15:30:00', 503, NULL),
    (11, '2026-02-01 14:00:00', '2026-02-01 22:00:00', 503, 502);
