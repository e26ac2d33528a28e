"""Uses the pages of a demo database in headless Chromium, as browser-test.sh serves and publishes it.

Usage: database_browser.py URL SITE

The ways through the pages are taken without scripts, and figures are zoomed with them. The published site in the
folder SITE is used from the disk and over HTTP. Then axe-core looks at every page, and no page is wider than a phone.
COMET_SCREENSHOTS=FOLDER keeps pictures.
"""

import functools
import http.server
import json
import os
import pathlib
import re
import sys
import threading
import urllib.request

from browser_test import box, browser, find, hovering_tells_the_value, move, nobody_is_shut_out, prefer
from browser_test import resize, the_console_is_silent, ticks, wait_until
from selenium.common.exceptions import WebDriverException

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


def is_gone(element):
    try:
        return not element.tag_name
    except WebDriverException:
        # Mostly StaleElementReferenceException, but drivers have other words for it, too.
        return True


def follow(page, element):
    """Clicks, and waits for the next page."""
    before = find(page, "html")[0]
    element.click()
    wait_until(lambda: is_gone(before), "a click leads to no page")


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
    assert find(page, "figure.plot svg.comet .mark"), "the comparison has no figure"
    [link] = [link for link in find(page, "main a") if link.text == "CSV"]
    lines = get(link.get_attribute("href")).splitlines()
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


def kernels_have_a_meaning(page, url, run):
    page.get(f"{url}/runs/{run}")
    link = find(page, "table td a")[0]
    name = link.text
    follow(page, link)
    target = page.current_url.split("#")[1]
    assert name.endswith(f"/{target}") and find(page, f"[id='{target}']")[0].text == name, "a kernel has no meaning"
    assert "Verified by" in text(page), "the meaning of a kernel lacks its parts"


def drag(page, figure, start, end):
    """Drags over shares of the plot area."""
    left, top, width, height = box(page, figure)
    actions = move(page, left + start * width, top + 0.3 * height)
    actions.w3c_actions.pointer_action.pointer_down()
    actions.w3c_actions.pointer_action.move_to_location(int(left + end * width), int(top + 0.6 * height))
    actions.w3c_actions.pointer_action.pointer_up()
    actions.perform()


def double_click(page, figure):
    left, top, width, height = box(page, figure)
    move(page, left + width / 2, top + height * 0.9).double_click().perform()


def a_drag_zooms_and_the_address_follows(page, url, names):
    """The names are those of the two fields; the state is in the address and survives a reload."""
    page.get(url)
    figure = wait_until(lambda: find(page, "figure.plot:has(svg.comet[data-live])"), "no figure is live")[0]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
    hovering_tells_the_value(page, figure)
    before, whole = ticks(figure), page.current_url
    drag(page, figure, 0.3, 0.7)
    wait_until(lambda: all(f"{name}=" in page.current_url for name in names), "a drag is not in the address")
    wait_until(lambda: is_gone(figure), "a drag loads no figure")
    after = ticks(find(page, "figure.plot")[0])
    assert after != before, "a drag does not change the ticks"
    for name in names:
        value = find(page, f"main form [name={name}]")[0].get_attribute("value")
        assert f"{name}={value}" in page.current_url, f"the field {name} is {value}"
    page.refresh()
    wait_until(lambda: find(page, "figure.plot svg.comet[data-live]"), "the figure is gone after a reload")
    assert ticks(find(page, "figure.plot")[0]) == after, "another figure is drawn after a reload"
    figure = find(page, "figure.plot")[0]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
    double_click(page, figure)
    wait_until(lambda: is_gone(figure), "a double click loads no figure")
    assert ticks(find(page, "figure.plot")[0]) == before, "a double click does not show all"
    assert all(f"{name}=" not in page.current_url for name in names), f"{page.current_url} is not {whole}"
    the_console_is_silent(page)


def a_site_compares_in_the_browser(page, url):
    """Runs, then series, then a figure, whose state is in the address."""
    page.get(f"{url}/compare.html")
    wait_until(lambda: find(page, "#runs li"), "there are no runs to choose from")
    find(page, "[name=filter]")[0].send_keys("modes of the ping-pong")
    wait_until(lambda: len([item for item in find(page, "#runs li") if item.is_displayed()]) == 4, "the filter filters nothing")
    for item in find(page, "#runs li"):
        if item.is_displayed():
            find(item, "input")[0].click()
    wait_until(lambda: any("skampi/pingpong send recv" in item.text for item in find(page, "#series li")), "no series are shared")
    [item] = [item for item in find(page, "#series li") if "skampi/pingpong send recv" in item.text][:1]
    find(item, "input")[0].click()
    wait_until(lambda: find(page, "figure.plot svg.comet[data-live] .mark"), "no figure is drawn")
    address = page.current_url
    assert address.count("run=") == 4 and address.count("series=") == 1, f"the state is not in {address}"
    assert len(find(page, "g.legend g.entry")) == 4, "a machine has no curve"
    heads = [head.text for head in find(page, "#result th")]
    assert heads.count("ratio") == 3, f"the table has the heads {heads}"
    cells = [cell.text for cell in find(page, "#result tbody tr")[0].find_elements("css selector", "td")]
    assert all(any(c.isdigit() for c in cell) for cell in cells[2:]), f"a row has the cells {cells}"
    assert find(page, "#kernels a"), "the kernel has no link to its meaning"
    assert find(page, "#differ")[0].is_displayed(), "environments differ, and nothing says so"
    commands = find(page, "#verdicts pre")[0].text.splitlines()
    assert commands[0].startswith("gunzip ") and commands[0].count(".jsonl.gz") == 4, f"the commands are {commands}"
    assert len(commands) == 4, f"the commands are {commands}"
    assert all(line.startswith("comet-run compare ") and line.endswith(" --allow-env-diff") for line in commands[1:])
    pick(page, "y", "rate")
    wait_until(lambda: "bandwidth" in text(page), "the figure shows no rates")
    return page.current_url


def a_time_of_zero_has_no_place_on_a_logarithmic_axis(page, address, folder):
    """One point of a run takes 0 ns: it has no mark, and all others have their places."""
    page.get("about:blank")
    page.get(address.replace("&y=rate", ""))
    wait_until(lambda: find(page, "figure.plot svg.comet[data-live] .mark"), "no figure is drawn")
    address, n_marks = page.current_url, len(find(page, "g.series .mark"))
    run, series = (re.search(f"[#&]{name}=([0-9a-f]+)", address)[1] for name in ("run", "series"))
    path = folder / "data" / f"{run}.js"
    before = path.read_text()
    lines = before.splitlines()
    data = json.loads(lines[1])
    number = [of["id"] for of in data["series"]].index(series)
    # In the middle of the curve, whose line would break.
    points = [point for point in data["points"] if point[0] == number]
    points[len(points) // 2][3:6] = [0, 0, 0]
    path.write_text("\n".join([lines[0], json.dumps(data), lines[2], ""]))
    try:
        page.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
        page.get("about:blank")
        page.get(address)
        wait_until(lambda: find(page, "figure.plot svg.comet[data-live] .mark"), "no figure is drawn")
        assert "0 ns" in find(page, "#result tbody")[0].text, "the table has no time of 0"
        n_left = len(find(page, "g.series .mark"))
        assert n_left == n_marks - 1, f"{n_left} of {n_marks} marks are left"
        drawn = find(page, "#result figure.plot")[0].get_attribute("innerHTML")
        assert "NaN" not in drawn and "Infinity" not in drawn, "the figure has a place that is none"
        the_console_is_silent(page)
    finally:
        path.write_text(before)


def values_of(page):
    """The values of all marks of a figure, each with its unit."""
    words = [mark.get_attribute("textContent") for mark in find(page, "g.series .mark > title")]
    values = [word.split("\n")[0].split(": ")[-1].split() for word in words]
    return sorted((unit, float(number)) for number, unit in values)


def a_site_shows_the_rates_of_the_server(page, url, address):
    """The same runs and series are the same values in the page of the server and in that of a site."""
    page.get("about:blank")
    page.get(address)
    wait_until(lambda: find(page, "g.series .mark > title"), "no figure is drawn")
    of_site = values_of(page)
    page.get(f"{url}/compare?{address.split('#')[1]}")
    of_server = values_of(page)
    assert of_site == of_server and len(of_site) > 80, f"{of_site[:9]} are not {of_server[:9]}"


def a_site_is_read_without_scripts(page, url):
    page.get(f"{url}/index.html")
    assert "slower on t3e since 2025-03-31" in text(page), "the site has no alert"
    follow(page, find(page, "table a")[0])
    assert "Curves" in text(page)
    run = page.current_url
    follow(page, find(page, "main a[href*='reports/']")[0])
    assert find(page, "svg.comet"), "the report has no figure"
    page.get(run)
    follow(page, find(page, "table td a")[0])
    assert "Verified by" in text(page), "a kernel has no meaning"
    page.get(f"{url}/trends.html")
    follow(page, find(page, "section.warning a")[0])
    assert "slower since" in text(page) and find(page, "svg.comet"), "the trend has no figure"
    trend = page.current_url
    page.get(f"{url}/compare.html")
    assert "drawn by a script" in text(page), "the comparison does not say what it needs"
    return [run, trend]


def serve_folder(folder):
    """A plain web server of the folder; its address."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/{{}}"


def keep_pictures(page, named):
    folder = os.environ.get("COMET_SCREENSHOTS")
    if not folder:
        return
    for name, url in named.items():
        for size, scheme in (((390, 900), "light"), ((1280, 900), "light"), ((1280, 900), "dark")):
            prefer(page, scheme)
            resize(page, size)
            # A page whose address differs behind # alone would not be loaded.
            page.get("about:blank")
            page.get(url)
            height = page.execute_script("return document.documentElement.scrollHeight")
            resize(page, (size[0], min(height, 2000)))
            page.save_screenshot(str(pathlib.Path(folder) / f"{name}-{size[0]}-{scheme}.png"))
    prefer(page, "light")


def pages_fit_and_nobody_is_shut_out(page, urls):
    for url in urls:
        page.get(url)
        for width in WIDTHS:
            resize(page, (width, 900))
            wide = page.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, f"{url} is {wide} px wide on {width} px"
        nobody_is_shut_out(page)


def main():
    url, folder = sys.argv[1:]
    folder = pathlib.Path(folder).resolve()
    # The site is not at the root of its server.
    site = serve_folder(folder.parent).format(folder.name)
    disk = folder.as_uri()
    page = browser(scripts=False)
    try:
        run = json.loads(get(f"{url}/api/v1/runs?limit=1"))["runs"][0]["id"]
        runs_lead_to_their_reports(page, url)
        ways = [runs_and_series_are_chosen_for_one_figure(page, url)]
        ways.append(a_change_is_found_in_a_trend_and_compared(page, url))
        kernels_have_a_meaning(page, url, run)
        a_site_is_read_without_scripts(page, site)
        of_site = a_site_is_read_without_scripts(page, disk)
    finally:
        page.quit()
    page = browser()
    try:
        a_drag_zooms_and_the_address_follows(page, ways[0], ("from", "to"))
        a_drag_zooms_and_the_address_follows(page, ways[1], ("since", "until"))
        comparisons = [a_site_compares_in_the_browser(page, at) for at in (site, disk)]
        a_site_shows_the_rates_of_the_server(page, url, comparisons[0])
        a_time_of_zero_has_no_place_on_a_logarithmic_axis(page, comparisons[0], folder)
        for address in comparisons:
            a_drag_zooms_and_the_address_follows(page, address, ("from", "to"))
        named = {
            "runs": f"{url}/", "run": f"{url}/runs/{run}", "compare": ways[0], "trend": ways[1], "kernels": f"{url}/kernels",
            "suite": f"{url}/kernels/comet", "site-runs": f"{disk}/index.html", "site-compare": comparisons[1],
            "site-trend": of_site[1],
        }
        keep_pictures(page, named)
        # A script of the tests runs on pages of an origin, and these have none on a disk.
        local = [at.replace(disk, site) for at in (*of_site, f"{disk}/compare.html", f"{disk}/trends.html", comparisons[1])]
        pages = [f"{url}/machines", f"{url}/compare", f"{url}/nothing", *named.values(), *local]
        pages_fit_and_nobody_is_shut_out(page, pages)
    finally:
        page.quit()
    print(f"database: 11 ways and {len(pages)} pages passed")


if __name__ == "__main__":
    main()
