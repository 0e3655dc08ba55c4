{{ config(materialized='incremental', incremental_strategy='merge', unique_key='order_id',
          partition_by='months(placed_on)') }}

select order_id, customer_id, cast(amount as decimal(9, 2)) as amount, placed_on
from {{ ref('raw_orders') }}
{% if is_incremental() %}
where placed_on >= (select max(placed_on) from {{ this }})
{% endif %}
