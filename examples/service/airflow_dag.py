"""Instead of a service that goes on: what is due, every ten minutes, as an Airflow task."""

from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG(
    dag_id="arctic_upkeep",
    schedule=timedelta(minutes=10),
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,  # A second one would find the tables leased.
):
    BashOperator(
        task_id="serve_once",
        # Events are lines of the task's log; one table that fails does not fail the task.
        bash_command="arctic serve --once --warehouse /lake --group default=4 --output json",
        execution_timeout=timedelta(hours=2),
    )
