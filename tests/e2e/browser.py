# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/browser.py: runs a headless Chromium with an empty profile, and removes the profile afterwards."""

import os
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

# Options that stop Chromium's background network use, and its use of /dev/shm, which is too small in a container.
SWITCHES = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--no-proxy-server", "--window-size=1280,1400"]


class Browser:
    """A running Chromium, controlled by the Selenium driver `driver`. A context manager."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hatrpc-browser-", ignore_cleanup_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        options.ignore_local_proxy_environment_variables()
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        for switch in [*SWITCHES, f"--user-data-dir={self.folder.name}/profile"]:
            options.add_argument(switch)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # the sandbox refuses to run as root
        service = Service("/usr/bin/chromedriver", env={**os.environ, "TMPDIR": self.folder.name})
        self.driver = webdriver.Chrome(service=service, options=options)
        self.driver.set_page_load_timeout(60)
        self.driver.set_script_timeout(60)
        return self

    def __exit__(self, *_):
        self.driver.quit()
        self.folder.cleanup()

    def open(self, address):
        self.driver.get(f"http://{address}/")

    def js(self, expression):
        return self.driver.execute_script(f"return {expression}")

    def table(self, section):
        """Returns the rows of a section's table as [{heading: text}]; [] if the section is hidden."""
        return self.js("""(() => {
          const section = document.getElementById(%r);
          if (section.hidden) return [];
          const headings = [...section.querySelectorAll("thead th")].map((cell) => cell.textContent);
          return [...section.querySelectorAll("tbody tr")].map((row) => Object.fromEntries(
              [...row.children].map((cell, i) => [headings[i], cell.textContent])));
        })()""" % section)

    def complaints(self):
        """Returns the severe messages in the browser's console since the last call.

        Leaves out messages about resources that failed to load, because tests stop the daemon that serves the page.
        """
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and "Failed to load resource" not in entry["message"]]
