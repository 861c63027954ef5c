-- The people who work here.
CREATE SCHEMA hr;

CREATE TYPE hr.absence_kind AS ENUM ('holiday', 'sick', 'parental', 'training');

CREATE TABLE hr.department (
    department_id INTEGER PRIMARY KEY,
    department_name VARCHAR NOT NULL UNIQUE,
    cost_center VARCHAR NOT NULL,
    parent_department_id INTEGER REFERENCES hr.department (department_id)
);
COMMENT ON TABLE hr.department IS 'Departments of the company, in a hierarchy.';
COMMENT ON COLUMN hr.department.department_name IS 'Name on the organisation chart.';
COMMENT ON COLUMN hr.department.cost_center IS 'Cost centre that the controllers book wages to.';
COMMENT ON COLUMN hr.department.parent_department_id IS 'Department this one belongs to; empty at the top.';

CREATE TABLE hr.employee (
    employee_id INTEGER PRIMARY KEY,
    first_name VARCHAR NOT NULL,
    last_name VARCHAR NOT NULL,
    work_email VARCHAR NOT NULL UNIQUE,
    national_id VARCHAR NOT NULL,
    birth_date DATE NOT NULL,
    job_title VARCHAR NOT NULL,
    department_id INTEGER NOT NULL REFERENCES hr.department (department_id),
    manager_id INTEGER REFERENCES hr.employee (employee_id),
    store_id INTEGER,
    monthly_salary DECIMAL(9, 2) NOT NULL,
    iban VARCHAR,
    hired_on DATE NOT NULL,
    left_on DATE,
    CHECK (left_on IS NULL OR left_on > hired_on)
);
COMMENT ON TABLE hr.employee IS 'Everyone who works or has worked for the company.';
COMMENT ON COLUMN hr.employee.employee_id IS 'Number on the staff card.';
COMMENT ON COLUMN hr.employee.work_email IS 'Address at the company; also the login.';
COMMENT ON COLUMN hr.employee.national_id IS 'National insurance number, for payroll only.';
COMMENT ON COLUMN hr.employee.birth_date IS 'Date of birth, for payroll only.';
COMMENT ON COLUMN hr.employee.department_id IS 'Department that pays the wage.';
COMMENT ON COLUMN hr.employee.manager_id IS 'Line manager; empty for the managing director.';
COMMENT ON COLUMN hr.employee.store_id IS 'Shop the person works in; empty for head office.';
COMMENT ON COLUMN hr.employee.monthly_salary IS 'Current gross salary in euro per month.';
COMMENT ON COLUMN hr.employee.iban IS 'Account that the salary is paid to.';
COMMENT ON COLUMN hr.employee.hired_on IS 'First working day.';
COMMENT ON COLUMN hr.employee.left_on IS 'Last working day; empty while employed.';

CREATE TABLE hr.salary_history (
    employee_id INTEGER NOT NULL REFERENCES hr.employee (employee_id),
    valid_from DATE NOT NULL,
    monthly_salary DECIMAL(9, 2) NOT NULL,
    reason VARCHAR NOT NULL CHECK (reason IN ('hire', 'annual_review', 'promotion')),
    PRIMARY KEY (employee_id, valid_from)
);
COMMENT ON TABLE hr.salary_history IS 'Salaries with the day from which each is paid.';
COMMENT ON COLUMN hr.salary_history.valid_from IS 'First day on which this salary is paid.';
COMMENT ON COLUMN hr.salary_history.monthly_salary IS 'Gross salary in euro per month.';
COMMENT ON COLUMN hr.salary_history.reason IS 'Why the salary was set.';

CREATE TABLE hr.absence (
    absence_id INTEGER PRIMARY KEY,
    employee_id INTEGER NOT NULL REFERENCES hr.employee (employee_id),
    kind hr.absence_kind NOT NULL,
    first_day DATE NOT NULL,
    last_day DATE NOT NULL,
    approved_by INTEGER,
    CHECK (last_day >= first_day)
);
COMMENT ON TABLE hr.absence IS 'Days off, planned or not.';
COMMENT ON COLUMN hr.absence.kind IS 'What the days off are for.';
COMMENT ON COLUMN hr.absence.first_day IS 'First day off.';
COMMENT ON COLUMN hr.absence.last_day IS 'Last day off, included.';
COMMENT ON COLUMN hr.absence.approved_by IS 'Employee who approved it; empty for sick leave.';
