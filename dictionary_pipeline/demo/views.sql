-- What people ask for every day. customer_revenue is a view on a view.
CREATE VIEW sales.order_summary AS
SELECT
    o.order_id,
    o.customer_id,
    o.channel,
    o.status,
    o.ordered_at,
    count(*) AS line_count,
    sum(l.quantity) AS piece_count,
    sum(l.line_total) AS order_total
FROM sales.sales_order AS o
INNER JOIN sales.order_line AS l ON o.order_id = l.order_id
GROUP BY o.order_id, o.customer_id, o.channel, o.status, o.ordered_at;
COMMENT ON VIEW sales.order_summary IS 'Orders with the number of lines and pieces and the amount to pay.';
COMMENT ON COLUMN sales.order_summary.line_count IS 'Lines of the order.';
COMMENT ON COLUMN sales.order_summary.piece_count IS 'Pieces over all lines.';
COMMENT ON COLUMN sales.order_summary.order_total IS 'Amount to pay in euro, VAT included.';

CREATE VIEW sales.customer_revenue AS
SELECT
    c.customer_id,
    c.loyalty_tier,
    count(s.order_id) AS order_count,
    coalesce(sum(s.order_total), 0) AS revenue,
    max(s.ordered_at) AS last_ordered_at
FROM sales.customer AS c
LEFT JOIN sales.order_summary AS s ON c.customer_id = s.customer_id AND s.status <> 'cancelled'
GROUP BY c.customer_id, c.loyalty_tier;
COMMENT ON VIEW sales.customer_revenue IS 'Revenue in euro per customer, cancelled orders left out.';
COMMENT ON COLUMN sales.customer_revenue.order_count IS 'Orders that were not cancelled.';
COMMENT ON COLUMN sales.customer_revenue.revenue IS 'Euro over all orders, VAT included.';

CREATE VIEW merchandise.current_price AS
SELECT p.product_id, p.sku, p.product_name, arg_max(pp.list_price, pp.valid_from) AS list_price
FROM merchandise.product AS p
INNER JOIN merchandise.product_price AS pp ON p.product_id = pp.product_id
WHERE NOT p.is_discontinued
GROUP BY p.product_id, p.sku, p.product_name;
COMMENT ON VIEW merchandise.current_price IS 'Latest list price of every product that is still bought.';

CREATE VIEW logistics.low_stock AS
SELECT w.warehouse_name, p.sku, p.product_name, s.on_hand, s.reorder_point
FROM logistics.stock_level AS s
INNER JOIN logistics.warehouse AS w ON s.warehouse_id = w.warehouse_id
INNER JOIN merchandise.product AS p ON s.product_id = p.product_id
WHERE s.on_hand < s.reorder_point;

CREATE VIEW hr.headcount AS
SELECT d.department_name, count(e.employee_id) AS employee_count, round(avg(e.monthly_salary), 2) AS average_salary
FROM hr.department AS d
LEFT JOIN hr.employee AS e ON d.department_id = e.department_id AND e.left_on IS NULL
GROUP BY d.department_name;
COMMENT ON VIEW hr.headcount IS 'Employees and average salary per department, former employees left out.';
