{{ config(materialized='ephemeral') }}

select id, city from {{ ref('raw_customers') }}
