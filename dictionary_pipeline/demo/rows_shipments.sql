-- One parcel for every web or phone order that has left the house.
INSERT INTO logistics.shipment
SELECT
    row_number() OVER (ORDER BY order_id) AS shipment_id,
    order_id,
    1 + roll(order_id, 'warehouse', 4),
    1 + skewed(order_id, 'carrier', 4),
    CASE
        WHEN status = 'completed' AND roll(order_id, 'lost', 400) = 0 THEN 'lost'
        WHEN status = 'completed' THEN 'delivered'
        WHEN status = 'paid' THEN 'packing'
        ELSE pick(['handed_over', 'in_transit'], order_id, 'on its way')
    END::logistics.shipment_status AS parcel,
    CASE WHEN parcel <> 'packing' THEN 'LK' || upper(md5('parcel ' || order_id)[:10]) END,
    ((250 + roll(order_id, 'weight', 9000)) / 1000)::DECIMAL(8, 3),
    CASE WHEN parcel <> 'packing' THEN ordered_at + to_hours(4 + roll(order_id, 'packed', 44)) END,
    CASE WHEN parcel = 'delivered' THEN ordered_at + to_hours(60 + roll(order_id, 'travel', 90)) END
FROM sales.sales_order
WHERE channel <> 'store' AND status IN ('paid', 'shipped', 'completed');

INSERT INTO logistics.shipment_line
SELECT s.shipment_id, l.line_no, l.order_id, l.line_no, l.quantity
FROM logistics.shipment AS s
INNER JOIN sales.order_line AS l ON s.order_id = l.order_id
ORDER BY s.shipment_id, l.line_no;
