"""Uses the pages of a demo database in headless Chromium, as browser-test.sh serves it.

Usage: database_browser.py URL

The ways through the site are taken without scripts; then axe-core looks at every page, and no page is wider than
a phone.
"""

import json
import sys
import urllib.request

from browser_test import browser, find, nobody_is_shut_out, resize, wait_until
from selenium.common.exceptions import StaleElementReferenceException

WIDTHS = (390, 1440)


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


def text(page):
    return find(page, "main")[0].text


def choose(page, words, most=10):
    """Ticks the boxes whose labels contain the words."""
    labels = [label for label in find(page, ".choices label") if words in label.text][:most]
    assert labels, f"there is no choice of {words}"
    for label in labels:
        box = find(label, "input")[0]
        if not box.is_selected():
            box.click()
    return len(labels)


def follow(page, element):
    """Clicks, and waits for the next page."""
    before = find(page, "html")[0]

    def is_gone():
        try:
            return not before.tag_name
        except StaleElementReferenceException:
            return True

    element.click()
    wait_until(is_gone, "a click leads to no page")


def show(page):
    follow(page, find(page, "main form button")[0])


def pick(page, name, words):
    """Picks from a list by its text."""
    options = [option for option in find(page, f"select[name={name}] option") if option.text == words]
    assert options, f"the list {name} has no {words}"
    options[0].click()


def runs_lead_to_their_reports(page, url):
    wait_until(lambda: json.loads(get(f"{url}/api/v1/alerts"))["alerts"], "the demo raises no alert")
    page.get(url)
    assert "Alerts" in text(page) and "slower on t3e since 2025-03-31" in text(page)
    follow(page, find(page, "table a")[0])
    assert "Curves" in text(page), "a run has no curves"
    follow(page, find(page, "main a[href$='/report']")[0])
    assert find(page, "svg.comet"), "the report has no figure"


def runs_and_series_are_chosen_for_one_figure(page, url):
    page.get(f"{url}/compare")
    assert choose(page, "modes of the ping-pong") == 4, "four machines are compared"
    show(page)
    choose(page, "skampi/pingpong send recv")
    show(page)
    assert "against" in text(page) and "Environments differ" in text(page), "there are no verdicts"
    [figure] = find(page, "figure img")
    lines = get(figure.get_attribute("src").replace("compare.svg", "compare.csv")).splitlines()
    assert len(lines) > 4 * 20, f"the figure has {len(lines)} values"
    return page.current_url


def a_change_is_found_in_a_trend_and_compared(page, url):
    page.get(f"{url}/trends")
    pick(page, "machine", "t3e")
    show(page)
    pick(page, "series", "comet/echo hops=1, one way time, median")
    show(page)
    pick(page, "length", "8")
    show(page)
    trend = page.current_url
    assert "slower since 2025-03-31" in text(page), "the change is not found"
    [link] = [link for link in find(page, "main a") if link.text.startswith("compare the runs")]
    follow(page, link)
    assert "t3e 2025-03-31 against t3e 2025-03-24" in text(page)
    return trend


def pages_fit_and_nobody_is_shut_out(page, urls):
    for url in urls:
        page.get(url)
        for width in WIDTHS:
            resize(page, (width, 900))
            wide = page.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, f"{url} is {wide} px wide on {width} px"
        nobody_is_shut_out(page)


def main():
    [url] = sys.argv[1:]
    page = browser(scripts=False)
    try:
        run = json.loads(get(f"{url}/api/v1/runs?limit=1"))["runs"][0]["id"]
        runs_lead_to_their_reports(page, url)
        ways = [runs_and_series_are_chosen_for_one_figure(page, url)]
        ways.append(a_change_is_found_in_a_trend_and_compared(page, url))
    finally:
        page.quit()
    page = browser()
    try:
        pages = [f"{url}/", f"{url}/machines", f"{url}/runs/{run}", f"{url}/compare", f"{url}/nothing", *ways]
        pages_fit_and_nobody_is_shut_out(page, pages)
    finally:
        page.quit()
    print(f"database: 3 ways and {len(pages)} pages passed")


if __name__ == "__main__":
    main()
