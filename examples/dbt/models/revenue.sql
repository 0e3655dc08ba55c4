select city, sum(amount) as amount
from {{ ref('orders') }} join {{ ref('customers') }} on id = customer_id
group by city
