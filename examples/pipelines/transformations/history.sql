-- Where each customer has lived, from when until when. A customer has several rows: no primary key.
CREATE STREAMING TABLE customer_history;

CREATE FLOW customer_moves AS AUTO CDC INTO customer_history
FROM STREAM(customer_changes)
KEYS (id)
APPLY AS DELETE WHEN op = 'D'
SEQUENCE BY seq
COLUMNS * EXCEPT (op, seq)
STORED AS SCD TYPE 2;
