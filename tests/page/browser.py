"""A real browser without a window, for the tests of pages and the pictures of the documentation.

It is Chromium as the system has it. Where there is none the tests are skipped, and a skipped test
fails in CI.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Dialog, Page, sync_playwright

QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--force-color-profile=srgb",
)


def chromium() -> str | None:
    """Return the program; None: this machine has none."""
    named = os.environ.get("ARCTIC_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Start the browser, and end it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened_page(
    browser: Browser,
    *,
    width: int = 1_280,
    height: int = 900,
    dark: bool = False,
    scripts: bool = True,
) -> Iterator[tuple[Page, list[str]]]:
    """Open a page, with a list of all that went wrong in it, and of what it asked others for."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
        reduced_motion="reduce",
    )
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(f"console: {said.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))

    def refuse(dialog: Dialog) -> None:
        wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", refuse)
    page.on("requestfailed", lambda request: wrong.append(f"refused: {request.url}"))
    try:
        yield page, wrong
    finally:
        context.close()
