"""The 22 questions of TPC-H, asked of a shop as in TPC-C, as CH-benCHmark does.

Rules: each is SQL that PostgreSQL, Spark and DuckDB take alike, and has one right answer: what is
cut off by a limit is in an order without ties.
"""

from __future__ import annotations

_SOLD_BY = "mod(s_w_id * s_i_id, 10000) = su_suppkey"
_LINE_OF_ORDER = "ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id"
_CUSTOMER_OF_ORDER = "c_w_id = o_w_id and c_d_id = o_d_id and c_id = o_c_id"
_STOCK_OF_LINE = "s_w_id = ol_supply_w_id and s_i_id = ol_i_id"

QUERIES = {
    1: """select ol_number, sum(ol_quantity) as pieces, sum(ol_amount) as amount,
        avg(ol_quantity) as mean_pieces, avg(ol_amount) as mean_amount, count(*) as orders
        from order_line where ol_delivery_d > timestamp '2025-01-10 00:00:00' group by ol_number""",
    2: f"""select su_suppkey, su_name, n_name, i_id, i_name
        from item, supplier, stock, nation, region,
        (select s_i_id as m_i_id, min(s_quantity) as m_quantity from stock, supplier, nation, region
        where {_SOLD_BY} and su_nationkey = n_nationkey and n_regionkey = r_regionkey
        and r_name like 'region 3%' group by s_i_id) m
        where i_id = s_i_id and {_SOLD_BY} and su_nationkey = n_nationkey
        and n_regionkey = r_regionkey and i_data like '%b' and r_name like 'region 3%'
        and i_id = m_i_id and s_quantity = m_quantity""",
    3: f"""select ol_o_id, ol_w_id, ol_d_id, sum(ol_amount) as revenue, o_entry_d
        from customer, new_order, orders, order_line
        where c_state like 'A%' and {_CUSTOMER_OF_ORDER} and no_w_id = o_w_id and no_d_id = o_d_id
        and no_o_id = o_id and {_LINE_OF_ORDER} and o_entry_d > timestamp '2025-01-02 00:00:00'
        group by ol_o_id, ol_w_id, ol_d_id, o_entry_d""",
    4: f"""select o_ol_cnt, count(*) as orders from orders
        where o_entry_d >= timestamp '2025-01-02 00:00:00'
        and exists (select 1 from order_line where {_LINE_OF_ORDER} and ol_delivery_d >= o_entry_d)
        group by o_ol_cnt""",
    5: f"""select n_name, sum(ol_amount) as revenue
        from customer, orders, order_line, stock, supplier, nation, region
        where {_CUSTOMER_OF_ORDER} and {_LINE_OF_ORDER} and {_STOCK_OF_LINE} and {_SOLD_BY}
        and ascii(c_state) = su_nationkey and su_nationkey = n_nationkey
        and n_regionkey = r_regionkey and r_name = 'region 1'
        and o_entry_d >= timestamp '2025-01-02 00:00:00' group by n_name""",
    6: """select sum(ol_amount) as revenue from order_line
        where ol_delivery_d >= timestamp '2025-01-10 00:00:00'
        and ol_delivery_d < timestamp '2030-01-01 00:00:00' and ol_quantity between 1 and 7""",
    7: f"""select su_nationkey, ascii(c_state) as c_nation,
        extract(year from o_entry_d) as o_year, sum(ol_amount) as revenue
        from supplier, stock, order_line, orders, customer, nation n1, nation n2
        where {_STOCK_OF_LINE} and {_SOLD_BY} and {_LINE_OF_ORDER} and {_CUSTOMER_OF_ORDER}
        and su_nationkey = n1.n_nationkey and ascii(c_state) = n2.n_nationkey
        and ((n1.n_name = 'nation C' and n2.n_name = 'nation D')
        or (n1.n_name = 'nation D' and n2.n_name = 'nation C'))
        group by su_nationkey, ascii(c_state), extract(year from o_entry_d)""",
    8: f"""select extract(year from o_entry_d) as o_year,
        sum(case when n2.n_name = 'nation C' then ol_amount else 0 end) as of_nation,
        sum(ol_amount) as of_all
        from item, supplier, stock, order_line, orders, customer, nation n1, nation n2, region
        where i_id = s_i_id and {_STOCK_OF_LINE} and {_SOLD_BY} and {_LINE_OF_ORDER}
        and {_CUSTOMER_OF_ORDER} and n1.n_nationkey = ascii(c_state)
        and n1.n_regionkey = r_regionkey and r_name = 'region 2' and ol_i_id < 1000
        and su_nationkey = n2.n_nationkey and i_data like '%b'
        group by extract(year from o_entry_d)""",
    9: f"""select n_name, extract(year from o_entry_d) as o_year, sum(ol_amount) as revenue
        from item, stock, supplier, order_line, orders, nation
        where {_STOCK_OF_LINE} and {_SOLD_BY} and {_LINE_OF_ORDER} and ol_i_id = i_id
        and su_nationkey = n_nationkey and i_data like '%b'
        group by n_name, extract(year from o_entry_d)""",
    10: f"""select c_w_id, c_d_id, c_id, c_last, sum(ol_amount) as revenue, c_city, c_phone, n_name
        from customer, orders, order_line, nation
        where {_CUSTOMER_OF_ORDER} and {_LINE_OF_ORDER} and n_nationkey = ascii(c_state)
        and o_entry_d <= ol_delivery_d
        group by c_w_id, c_d_id, c_id, c_last, c_city, c_phone, n_name
        order by revenue desc, c_w_id, c_d_id, c_id limit 100""",
    11: f"""select s_i_id, sum(s_order_cnt) as orders from stock, supplier, nation
        where {_SOLD_BY} and su_nationkey = n_nationkey and n_name = 'nation E' group by s_i_id
        having sum(s_order_cnt) > (select sum(s_order_cnt) * 0.005 from stock, supplier, nation
        where {_SOLD_BY} and su_nationkey = n_nationkey and n_name = 'nation E')""",
    12: f"""select o_ol_cnt,
        sum(case when o_carrier_id in (1, 2) then 1 else 0 end) as first_class,
        sum(case when o_carrier_id in (1, 2) then 0 else 1 end) as others
        from orders, order_line where {_LINE_OF_ORDER} and o_entry_d <= ol_delivery_d
        and ol_delivery_d < timestamp '2030-01-01 00:00:00' group by o_ol_cnt""",
    13: """select orders, count(*) as customers from (select c_w_id, c_d_id, c_id,
        count(o_id) as orders from customer left join orders on c_w_id = o_w_id
        and c_d_id = o_d_id and c_id = o_c_id and o_carrier_id > 8
        group by c_w_id, c_d_id, c_id) as counted group by orders""",
    14: """select sum(case when i_data like 'original%' then ol_amount else 0 end) as of_original,
        sum(ol_amount) as of_all from order_line, item where ol_i_id = i_id
        and ol_delivery_d >= timestamp '2025-01-10 00:00:00'""",
    15: f"""with revenue as (select mod(s_w_id * s_i_id, 10000) as supplier_no,
        sum(ol_amount) as total from order_line, stock where {_STOCK_OF_LINE}
        and ol_delivery_d >= timestamp '2025-01-10 00:00:00' group by mod(s_w_id * s_i_id, 10000))
        select su_suppkey, su_name, su_address, su_phone, total from supplier, revenue
        where su_suppkey = supplier_no and total = (select max(total) from revenue)""",
    16: """select i_name, i_price, count(distinct mod(s_w_id * s_i_id, 10000)) as suppliers
        from stock, item where i_id = s_i_id and i_data not like 'plain1%'
        and mod(s_w_id * s_i_id, 10000) not in
        (select su_suppkey from supplier where su_comment like '%bad%') group by i_name, i_price""",
    17: """select sum(ol_amount) as amount from order_line,
        (select i_id as m_i_id, avg(ol_quantity) as mean from item, order_line
        where i_data like '%b' and ol_i_id = i_id group by i_id) m
        where ol_i_id = m_i_id and ol_quantity < mean""",
    18: f"""select c_last, c_w_id, c_d_id, c_id, o_id, o_entry_d, o_ol_cnt, sum(ol_amount) as amount
        from customer, orders, order_line where {_CUSTOMER_OF_ORDER} and {_LINE_OF_ORDER}
        group by c_last, c_w_id, c_d_id, c_id, o_id, o_entry_d, o_ol_cnt
        having sum(ol_amount) > 600 order by amount desc, c_w_id, c_d_id, c_id, o_id limit 100""",
    19: """select sum(ol_amount) as revenue from order_line, item where ol_i_id = i_id
        and ((i_data like '%a' and ol_quantity between 1 and 6 and i_price between 1 and 40)
        or (i_data like '%b' and ol_quantity between 1 and 8 and i_price between 1 and 80)
        or (i_data like '%c' and ol_quantity between 4 and 10 and i_price between 20 and 100))""",
    20: f"""select su_name, su_address from supplier, nation where su_nationkey = n_nationkey
        and n_name = 'nation F' and su_suppkey in (select mod(s_w_id * s_i_id, 10000)
        from stock join (select ol_supply_w_id, ol_i_id, sum(ol_quantity) as pieces
        from order_line where ol_delivery_d > timestamp '2025-01-10 00:00:00'
        group by ol_supply_w_id, ol_i_id) sold on {_STOCK_OF_LINE}
        join item on i_id = s_i_id where i_data like 'plain%' and 2 * s_quantity > pieces)""",
    21: f"""select su_name, count(*) as waits
        from supplier, stock, nation, orders o, order_line l1
        where s_w_id = l1.ol_supply_w_id and s_i_id = l1.ol_i_id and {_SOLD_BY}
        and l1.ol_w_id = o_w_id and l1.ol_d_id = o_d_id and l1.ol_o_id = o_id
        and l1.ol_delivery_d > o_entry_d and su_nationkey = n_nationkey and n_name = 'nation G'
        and not exists (select 1 from order_line l2 where l2.ol_w_id = l1.ol_w_id
        and l2.ol_d_id = l1.ol_d_id and l2.ol_o_id = l1.ol_o_id
        and l2.ol_delivery_d > l1.ol_delivery_d) group by su_name""",
    22: """select substring(c_state, 1, 1) as country, count(*) as customers,
        sum(c_balance) as balance from customer where substring(c_phone, 1, 1) in
        ('1', '2', '3', '4', '5', '6', '7') and c_balance > (select avg(c_balance) from customer
        where c_balance > 0.00 and substring(c_phone, 1, 1) in ('1', '2', '3', '4', '5', '6', '7'))
        and not exists (select 1 from orders where o_w_id = c_w_id and o_d_id = c_d_id
        and o_c_id = c_id and o_entry_d > timestamp '2026-06-01 00:00:00')
        group by substring(c_state, 1, 1)""",
}
