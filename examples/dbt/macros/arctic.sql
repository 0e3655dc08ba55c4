{# What dbt-spark must know of tables in Arctic's catalog, of which it has never heard: they are
   replaced and merged into as it does with Iceberg's. Copy this file into the macros of a project,
   and give models, seeds and snapshots the file_format iceberg. #}

{% macro spark__file_format_clause() -%}
  {% if config.get('file_format') == 'iceberg' %} using arctic {% endif %}
{%- endmacro %}

{# The key of a table is what dbt merges it by. #}
{% macro spark__tblproperties_clause() -%}
  {%- set given = config.get('tblproperties') or {} -%}
  {%- set key = config.get('unique_key') -%}
  {%- if model.resource_type == 'snapshot' -%}
    {%- set key = (config.get('snapshot_table_column_names') or {}).get('dbt_scd_id', 'dbt_scd_id') -%}
  {%- endif -%}
  {%- set columns = ([key] if key is string else (key or [])) | select | unique | list -%}
  {%- set made = {'primaryKey': columns | join(', ')} if columns else {} -%}
  {%- set properties = dict(made, **given) -%}
  {%- if properties -%}
    tblproperties (
      {%- for name in properties %} '{{ name }}' = '{{ properties[name] }}'{{ ',' if not loop.last }}
      {%- endfor %} )
  {%- endif -%}
{%- endmacro %}

{# dbt-spark reads the kind of a table out of this text. #}
{% macro spark__list_relations_without_caching(relation) -%}
  {% call statement('list_relations_without_caching', fetch_result=True) -%}
    show table extended in {{ relation.schema }} like '*'
  {%- endcall %}
  {%- set found = [] -%}
  {%- for row in load_result('list_relations_without_caching').table if row[0] -%}
    {%- do found.append((row[0], row[1], row[2],
                         row[3] | replace('Provider: arctic', 'Provider: iceberg'))) -%}
  {%- endfor -%}
  {{ return(found) }}
{%- endmacro %}

{# The catalog holds tables; what a snapshot compares lies in a view of the session. #}
{% macro spark_build_snapshot_staging_table(strategy, sql, target_relation) %}
  {%- set staged = api.Relation.create(identifier=target_relation.identifier ~ '__dbt_tmp', type='view') -%}
  {% call statement('build_snapshot_staging_relation') %}
    {{ create_temporary_view(staged, snapshot_staging_table(strategy, sql, target_relation)) }}
  {% endcall %}
  {% do return(staged) %}
{% endmacro %}

{% macro spark__create_view_as(relation, sql) -%}
  {{ exceptions.raise_compiler_error(
      relation ~ ": Arctic's catalog holds no views; materialize it as table, incremental or ephemeral"
  ) }}
{%- endmacro %}
