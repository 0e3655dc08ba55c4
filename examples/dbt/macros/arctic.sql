{# What dbt-spark must know of tables in Arctic's catalog, of which it has never heard: they are
   replaced and merged into as it does with Iceberg's. Copy this file into the macros of a project,
   and give models, seeds and snapshots the file_format iceberg. #}

{% macro spark__file_format_clause() -%}
  {% if config.get('file_format') == 'iceberg' %} using arctic {% endif %}
{%- endmacro %}

{# The key of a table is what dbt merges it by, unless the property primaryKey says another one, or none. #}
{% macro spark__tblproperties_clause() -%}
  {%- set given = config.get('tblproperties') or {} -%}
  {%- set key = config.get('unique_key') -%}
  {%- if model.resource_type == 'snapshot' -%}
    {%- set key = (config.get('snapshot_table_column_names') or {}).get('dbt_scd_id', 'dbt_scd_id') -%}
  {%- endif -%}
  {%- set columns = ([key] if key is string else (key or [])) | select | unique | list -%}
  {%- set made = {'primaryKey': columns | join(', ')} if columns else {} -%}
  {%- set properties = dict(made, **given) -%}
  {%- if not properties.get('primaryKey') -%} {%- do properties.pop('primaryKey', none) -%} {%- endif -%}
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

{# dbt-spark drops columns of no table. #}
{% macro spark__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {%- set added = [] -%}
  {%- for column in add_columns or [] -%}
    {%- do added.append(column.quoted ~ ' ' ~ column.data_type) -%}
  {%- endfor -%}
  {%- set removed = (remove_columns or []) | map(attribute='quoted') | list -%}
  {%- if added -%}
    {%- do run_query('alter table ' ~ relation ~ ' add columns (' ~ added | join(', ') ~ ')') -%}
  {%- endif -%}
  {%- if removed -%}
    {%- do run_query('alter table ' ~ relation ~ ' drop columns (' ~ removed | join(', ') ~ ')') -%}
  {%- endif -%}
{% endmacro %}

{# A model that says fewer columns than its table has leaves the others as they are. #}
{% macro spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- set merge = dbt.spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
  {%- set said = adapter.get_columns_in_relation(source) | map(attribute='quoted') | list -%}
  {%- if said | length < adapter.get_columns_in_relation(target) | length -%}
    {%- set sources, sets = [], [] -%}
    {%- for column in said -%}
      {%- do sources.append('DBT_INTERNAL_SOURCE.' ~ column) -%}
      {%- do sets.append(column ~ ' = DBT_INTERNAL_SOURCE.' ~ column) -%}
    {%- endfor -%}
    {%- set insert = 'insert (' ~ said | join(', ') ~ ') values (' ~ sources | join(', ') ~ ')' -%}
    {%- set merge = modules.re.sub('update set\s+\*', 'update set ' ~ sets | join(', '), merge) -%}
    {%- set merge = modules.re.sub('insert \*', insert, merge) -%}
  {%- endif -%}
  {{ merge }}
{% endmacro %}

{# By its session method dbt-spark writes a null of a seed as the text None. #}
{% macro spark__load_csv_rows(model, agate_table) %}
  {%- set given, types, statements = config.get('column_types', {}), [], [] -%}
  {%- for name in agate_table.column_names -%}
    {%- do types.append(given.get(name, adapter.convert_type(agate_table, loop.index0))) -%}
  {%- endfor -%}
  {%- for some in agate_table.rows | batch(get_batch_size()) -%}
    {%- set rows, bindings = [], [] -%}
    {%- for row in some -%}
      {%- set values = [] -%}
      {%- for value in row -%}
        {%- do values.append('null' if value is none else 'cast(%s as ' ~ types[loop.index0] ~ ')') -%}
      {%- endfor -%}
      {%- do rows.append('(' ~ values | join(', ') ~ ')') -%}
      {%- do bindings.extend(row | reject('none') | list) -%}
    {%- endfor -%}
    {%- do statements.append('insert into ' ~ this.render() ~ ' values ' ~ rows | join(', ')) -%}
    {%- do adapter.add_query(statements[-1], bindings=bindings, abridge_sql_log=True) -%}
  {%- endfor -%}
  {{ return(statements[0]) }}
{% endmacro %}

{# Which partitions are overwritten follows from the rows, whatever a table is partitioned by. #}
{% macro get_insert_overwrite_sql(source_relation, target_relation, existing_relation) %}
  {%- set columns = adapter.get_columns_in_relation(target_relation) | map(attribute='quoted') -%}
  insert overwrite {{ target_relation }} select {{ columns | join(', ') }} from {{ source_relation }}
{% endmacro %}
