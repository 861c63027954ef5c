-- 180 employees: 1 the managing director, 2 to 9 heads of department, 10 to 33 shop managers, then the others.
INSERT INTO hr.department VALUES (1, 'Management', 'CC-100', NULL);
INSERT INTO hr.department VALUES
    (2, 'Store Operations', 'CC-200', 1),
    (3, 'E-Commerce', 'CC-300', 1),
    (4, 'Merchandising', 'CC-400', 1),
    (5, 'Logistics', 'CC-500', 1),
    (6, 'Finance', 'CC-600', 1),
    (7, 'Human Resources', 'CC-700', 1);
INSERT INTO hr.department VALUES (8, 'Web Shop Development', 'CC-310', 3), (9, 'Customer Service', 'CC-320', 3);

CREATE TEMP TABLE staff AS
SELECT
    id,
    CASE
        WHEN id <= 9 THEN id
        WHEN id <= 33 OR roll(id, 'department', 10) < 6 THEN 2
        ELSE 3 + roll(id, 'office', 7)
    END AS department_id,
    pick(getvariable('first_names'), id, 'employee first') AS first_name,
    pick(getvariable('last_names'), id, 'employee last') AS last_name,
    DATE '2010-01-04' + 14 * roll(id, 'hired', 360) AS hired_on
FROM numbers(1, 180) AS numbers(id);

CREATE TEMP TABLE placed AS
SELECT
    *,
    CASE WHEN id BETWEEN 10 AND 33 THEN id - 9 WHEN id > 33 AND department_id = 2 THEN 1 + id % 24 END AS store_id
FROM staff;

CREATE TEMP TABLE employees AS
SELECT
    id,
    first_name,
    last_name,
    lower(regexp_replace(strip_accents(first_name || '.' || last_name), '[^\w.]', '', 'g')) || id
    || '@larkspur.example' AS work_email,
    -- Numbers from 900 on are not issued to anybody.
    printf('%d-%02d-%04d', 900 + roll(id, 'ssn', 99), 1 + roll(id, 'ssn2', 98), roll(id, 'ssn3', 10000)) AS national_id,
    DATE '1961-01-01' + roll(id, 'birth', 15000) AS birth_date,
    CASE
        WHEN id = 1 THEN 'Managing Director'
        WHEN id <= 9 THEN 'Head of Department'
        WHEN id <= 33 THEN 'Store Manager'
        WHEN store_id IS NOT NULL
            THEN pick(['Sales Assistant', 'Sales Assistant', 'Cashier', 'Workshop Technician'], id, 'job')
        ELSE pick(['Analyst', 'Specialist', 'Coordinator', 'Developer', 'Team Lead'], id, 'job')
    END AS job_title,
    department_id,
    CASE
        WHEN id = 1 THEN NULL
        WHEN id <= 9 THEN 1
        WHEN id <= 33 OR store_id IS NULL THEN department_id
        ELSE 9 + store_id
    END AS manager_id,
    store_id,
    (CASE WHEN id = 1 THEN 14500 WHEN id <= 9 THEN 7800 WHEN id <= 33 THEN 4300 ELSE 2450 END
        + 25 * roll(id, 'salary', 60))::DECIMAL(9, 2) AS monthly_salary,
    printf('XX%02d LARK %04d %04d', 10 + roll(id, 'iban', 89), roll(id, 'iban2', 10000), id) AS iban,
    hired_on,
    CASE WHEN id > 33 AND roll(id, 'left', 12) = 0 THEN hired_on + 200 + roll(id, 'stay', 300) END AS left_on
FROM placed;

-- A self reference is only satisfied by rows of earlier statements, so: level by level.
INSERT INTO hr.employee SELECT * FROM employees WHERE id = 1;
INSERT INTO hr.employee SELECT * FROM employees WHERE id BETWEEN 2 AND 9;
INSERT INTO hr.employee SELECT * FROM employees WHERE id BETWEEN 10 AND 33;
INSERT INTO hr.employee SELECT * FROM employees WHERE id > 33;

INSERT INTO hr.salary_history
SELECT
    employee_id,
    hired_on + 365 * step,
    (monthly_salary * (0.88 + 0.03 * step))::DECIMAL(9, 2),
    CASE
        WHEN step = 0 THEN 'hire'
        WHEN roll(employee_id, 'raise' || step, 6) = 0 THEN 'promotion'
        ELSE 'annual_review'
    END
FROM hr.employee, numbers(0, 4) AS numbers(step)
WHERE step = 0 OR hired_on + 365 * step < coalesce(left_on, DATE '2024-12-31');

INSERT INTO hr.absence
SELECT
    n,
    1 + n % 180,
    pick(['holiday', 'holiday', 'holiday', 'sick', 'sick', 'training', 'parental'], n, 'absence')::hr.absence_kind
        AS kind,
    DATE '2024-01-02' + roll(n, 'day', 340) AS first_day,
    first_day + roll(n, 'length', 14),
    CASE WHEN kind <> 'sick' THEN (SELECT coalesce(manager_id, 1) FROM hr.employee WHERE employee_id = 1 + n % 180) END
FROM numbers(1, 900);
