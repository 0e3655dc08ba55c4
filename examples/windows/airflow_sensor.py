"""A report of each hour, once all writers have passed it: an Airflow sensor, then the work."""

from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.sensors.python import PythonSensor
from airflow.sdk import DAG

import arctic


def clicks_are_complete(data_interval_end: datetime) -> bool:
    """Look whether every click before the end of the hour is there."""
    return bool(arctic.ready("web.clicks", data_interval_end, warehouse="/lake"))


with DAG(
    dag_id="arctic_report",
    schedule="@hourly",
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=True,  # Hours of the past are complete at once.
):
    PythonSensor(
        task_id="clicks_are_complete",
        python_callable=clicks_are_complete,
        mode="reschedule",  # Between two looks it takes no place of a worker.
        poke_interval=60,
        timeout=timedelta(hours=6).total_seconds(),
    ) >> BashOperator(
        task_id="report",
        bash_command="spark-submit report.py {{ data_interval_start }} {{ data_interval_end }}",
    )
