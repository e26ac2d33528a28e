"""Uses pages of comet-run report in headless Chromium; see browser-test.sh, which makes them.

Usage: browser_test.py FOLDER PAGE...

Each check is a function that takes the open page and fails by an assertion with a sentence. The first
one that fails ends the test.
"""

import base64
import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree
from concurrent.futures import ThreadPoolExecutor

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

# Pages of one run can be mailed, and those of two.
MAX_BYTES = {"simulated": 700_000, "measured": 700_000, "standard": 700_000, "both": 1_000_000, "two": 1_000_000}
MAX_TAB_STOPS = 60
# The least size of a letter in a figure on a phone, in pixels of CSS.
LEAST_TEXT_PX = 8.5
DESKTOP = (1280, 900)
PHONE = (360, 740)
# How long the page may take to do what it was asked for.
PATIENCE_S = 5.0


def browser(scripts=True):
    """A headless browser that keeps its logs."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # A page asks once before it saves several files, and nobody is there to answer.
    preferences = {"profile.default_content_setting_values.automatic_downloads": 1}
    if not scripts:
        preferences["profile.managed_default_content_settings.javascript"] = 2
    options.add_experimental_option("prefs", preferences)
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def resize(page, size):
    """Gives the page a width that a window cannot have."""
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer(page, scheme):
    """Says that the reader prefers light or dark pages."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def find(page, selector):
    """All elements of a page or of an element."""
    return page.find_elements(By.CSS_SELECTOR, selector)


def wait_until(condition, sentence):
    """Waits for what the page does in its own time."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        assert time.monotonic() < deadline, sentence
        time.sleep(0.05)
    return value


def unfold(page):
    """Opens everything that is folded, and waits until all figures are live."""
    page.execute_script("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    waiting = "return document.querySelectorAll('svg.comet:not([data-live])').length === 0"
    wait_until(lambda: page.execute_script(waiting), "a figure that was opened does not become live")


def folded(page, element):
    """Whether a closed part of the page holds the element."""
    return page.execute_script("return Boolean(arguments[0].closest('details:not([open])'))", element)


def chart(page):
    """The first figure with several curves, in view."""
    for figure in find(page, "figure.plot"):
        if len(find(figure, "g.legend g.entry")) > 1 and find(figure, "g.panel[data-panel=main]"):
            # Tools appear where the focus is.
            script = "arguments[0].scrollIntoView({block: 'center'}); arguments[0].querySelector('.view').focus()"
            page.execute_script(script, figure)
            return figure
    raise AssertionError("no figure has a legend of several curves")


def ticks(figure):
    """The labels of both axes."""
    return [tick.text for tick in find(figure, "text.tick")]


def box(page, figure):
    """Where the plot area is in the window: left, top, width, height."""
    frame = find(figure, "g.panel[data-panel=main] .frame")[0]
    script = "const at = arguments[0].getBoundingClientRect(); return [at.x, at.y, at.width, at.height]"
    return page.execute_script(script, frame)


def move(page, x, y):
    """A chain of actions that starts with the pointer at a place of the window."""
    actions = ActionChains(page, duration=50)
    actions.w3c_actions.pointer_action.move_to_location(int(x), int(y))
    return actions


def few_figures_are_open(page):
    open_ones = [figure for figure in find(page, "figure.plot") if not folded(page, figure)]
    assert 1 <= len(open_ones) <= 8, f"{len(open_ones)} figures are open"


def few_tab_stops_precede_the_last_figure(page):
    page.execute_script("window.scrollTo(0, 0)")
    last = [figure for figure in find(page, "figure.plot") if not folded(page, figure)][-1]
    stops = []
    for _ in range(MAX_TAB_STOPS):
        ActionChains(page).send_keys(Keys.TAB).perform()
        stops.append(page.execute_script("return document.activeElement.textContent.slice(0, 30)"))
        if page.execute_script("return arguments[0].contains(document.activeElement)", last):
            assert stops[0].startswith("Skip"), f"the first tab stop is {stops[0]}"
            return
    raise AssertionError(f"more than {MAX_TAB_STOPS} tab stops precede the last figure: {stops}")


def arrows_move_in_legends(page):
    figure = chart(page)
    entries = find(figure, "g.legend g.entry")
    stops = [entry for entry in entries if entry.get_attribute("tabindex") == "0"]
    assert stops == entries[:1], f"{len(stops)} entries of a legend are tab stops"
    page.execute_script("arguments[0].focus()", entries[0])
    ActionChains(page).send_keys(Keys.ARROW_RIGHT).perform()
    reached = page.execute_script("return document.activeElement === arguments[0]", entries[1])
    assert reached, "an arrow does not move to the next entry of a legend"


def the_index_leads_into_folded_parts(page):
    figures = [figure for figure in find(page, "figure.plot") if folded(page, figure)]
    if not figures:
        return
    last = figures[-1].get_attribute("id")
    assert find(page, f"nav a[href='#{last}']"), f"the index has no link to {last}"
    page.execute_script("location.hash = arguments[0]", last)
    wait_until(lambda: not folded(page, figures[-1]), "a link into a folded part does not open it")


def titles_are_whole(page):
    script = """
        return [...document.querySelectorAll('svg.comet')]
            .map((svg) => [...svg.querySelectorAll(':scope > text.title')].map((line) => line.textContent).join(' '))
            .filter((title) => title.includes('…'));
    """
    assert not (cut := page.execute_script(script)), f"titles are cut: {cut}"


def units_have_one_spelling(page):
    # The environment quotes the command line and the names of the record.
    script = """
        const parts = [...document.querySelectorAll('body > header, main section:not(#environment)')];
        return parts.map((part) => part.innerText).join(' ').match(/.*(\\d us\\b|r_inf|n_half|\\bt0\\b).*/g);
    """
    found = page.execute_script(script)
    assert not found, f"other spellings of µs, r∞, n½ and t₀: {found}"


def phones_show_whole_figures(page):
    resize(page, PHONE)
    script = """
        const sizes = [...document.querySelectorAll('svg.comet')].map((svg) => {
            const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
            return [svg.dataset.figure, svg.getBoundingClientRect().right, scale * 12];
        });
        return [sizes, document.documentElement.clientWidth];
    """
    figures, width = page.execute_script(script)
    for name, right, text_px in figures:
        assert right <= width, f"{name} ends at {right:.0f} px on a phone of {width} px"
        assert text_px >= LEAST_TEXT_PX, f"letters of {name} are {text_px:.1f} px high on a phone"
    outside = """
        const cells = [...document.querySelectorAll('table.glance td:nth-child(2), table.points td, table.laws td')];
        return cells.filter((cell) => cell.getBoundingClientRect().right > document.documentElement.clientWidth)
            .map((cell) => cell.textContent).slice(0, 5);
    """
    assert not (cells := page.execute_script(outside)), f"numbers beyond the edge of a phone: {cells}"
    resize(page, DESKTOP)


def nobody_is_shut_out(page):
    axe = os.environ.get("COMET_AXE")
    assert axe, "COMET_AXE names no axe.min.js"
    for size, scheme in ((DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light")):
        resize(page, size)
        prefer(page, scheme)
        page.execute_script(pathlib.Path(axe).read_text(encoding="utf-8"))
        script = "const done = arguments[0]; axe.run(document).then((found) => done(found.violations))"
        found = page.execute_async_script(script)
        named = [f"{one['id']}: {one['nodes'][0]['html'][:200]} ({len(one['nodes'])})" for one in found]
        assert not named, f"axe-core finds with {size[0]} px, {scheme}: {named}"
    prefer(page, "light")
    resize(page, DESKTOP)


def figures_have_marks(page):
    figures = find(page, "figure.plot svg.comet")
    assert figures, "the page has no figure"
    script = "return arguments[0].querySelectorAll('.mark, .line, .dots, .cells path').length"
    empty = [figure.get_attribute("data-figure") for figure in figures if not page.execute_script(script, figure)]
    assert not empty, f"figures without marks: {empty}"


def dragging_zooms_and_reset_restores(page):
    figure = chart(page)
    before = ticks(figure)
    left, top, width, height = box(page, figure)
    actions = move(page, left + 0.3 * width, top + 0.3 * height)
    actions.w3c_actions.pointer_action.pointer_down()
    actions.w3c_actions.pointer_action.move_to_location(int(left + 0.6 * width), int(top + 0.7 * height))
    actions.w3c_actions.pointer_action.pointer_up()
    actions.perform()
    wait_until(lambda: ticks(figure) != before, "a drag over the figure does not change its ticks")
    find(figure, ".tools button[data-action=reset]")[0].click()
    wait_until(lambda: ticks(figure) == before, "the reset button does not bring the ticks back")


def legends_hide_curves(page):
    figure = chart(page)
    entry = find(figure, "g.legend g.entry")[0]
    number = entry.get_attribute("data-series")
    series = find(figure, f"g.panel[data-panel=main] g.series[data-series='{number}']")[0]
    click = "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    page.execute_script(click, entry)
    assert "off" in series.get_attribute("class").split(), "a click on the legend does not hide the curve"
    assert entry.get_attribute("aria-pressed") == "false", "the legend does not say that it is off"
    page.execute_script(click, entry)
    assert "off" not in series.get_attribute("class").split(), "a second click does not show it again"


def hovering_tells_the_value(page, figure=None):
    figure = figure or chart(page)
    script = """
        const area = arguments[0].querySelector('g.panel[data-panel=main]');
        const mark = area.querySelector('.mark').getBoundingClientRect();
        return [mark.x + mark.width / 2, mark.y + mark.height / 2];
    """
    move(page, *page.execute_script(script, figure)).perform()
    tip = find(figure, ".tip")[0]
    text = wait_until(lambda: tip.is_displayed() and tip.text, "no value appears under the pointer")
    assert any(c.isdigit() for c in text), f"the tip tells no value: {text}"


def tables_sort(page):
    script = """
        const table = document.querySelector('table.points');
        for (let e = table; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
        const heads = [...table.querySelectorAll('thead th')];
        const column = heads.findIndex(head => head.textContent.startsWith('Quoted'));
        heads[column].querySelector('button').click();
        const cells = [...table.querySelectorAll('tbody tr')].map(row => row.cells[column].textContent);
        return [heads[column].getAttribute('aria-sort'), cells.map(Number).filter(Number.isFinite)];
    """
    first, values = page.execute_script(script)
    assert first in ("ascending", "descending"), "a click on a head does not sort the table"
    assert len(values) > 10, "the table of points has hardly a row"
    assert values == sorted(values, reverse=first == "descending"), "the values are not in order"
    second, others = page.execute_script(script)
    assert first != second and others == values[::-1], "a second click does not turn the order"


def figures_can_be_taken_away(page):
    figure = chart(page)
    name = figure.get_attribute("id")
    taken = {}
    for action, ending in (("svg", ".svg"), ("csv", ".csv"), ("gnuplot", ".gp")):
        find(figure, f".tools button[data-action={action}]")[0].click()
        path = page.downloads / (name + ending)
        wait_until(lambda path=path: path.is_file() and path.stat().st_size, f"there is no {path.name}")
        taken[action] = path.read_text(encoding="utf-8")
    root = xml.etree.ElementTree.fromstring(taken["svg"])
    assert root.tag == "{http://www.w3.org/2000/svg}svg", f"the picture is a {root.tag}"
    assert "<style" in taken["svg"], "the picture has lost its styles"
    rows = list(csv.reader(line for line in io.StringIO(taken["csv"]) if not line.startswith("#")))
    assert len(rows) > 2 and rows[0][0] == "series", f"the numbers are no table: {rows[:2]}"
    assert "plot" in taken["gnuplot"], "the script plots nothing"
    assert taken["csv"] in taken["gnuplot"], "the script lacks the values"
    if shutil.which("gnuplot"):
        script = ["gnuplot", f"{name}.gp"]
        drawn = subprocess.run(script, cwd=page.downloads, capture_output=True, text=True, timeout=20)
        assert drawn.returncode == 0 and not drawn.stderr, f"gnuplot complains: {drawn.stderr}"


def every_figure_can_be_taken_away(page):
    script = """
        const has = (figure, kind) => figure.querySelector(`.tools button[data-action=${kind}]`);
        const isFull = (figure, kind) => figure.querySelector(`.${kind}`)?.textContent.trim();
        const isWhole = (figure) =>
            ['csv', 'gnuplot'].every((kind) => has(figure, kind) && isFull(figure, kind)) && has(figure, 'svg');
        return [...document.querySelectorAll('figure.plot')].filter((one) => !isWhole(one)).map((one) => one.id);
    """
    lacking = page.execute_script(script)
    assert not lacking, f"figures without one of their three files: {lacking}"


def the_theme_changes(page):
    colour = "return getComputedStyle(document.body).backgroundColor"
    before = page.execute_script(colour)
    page.execute_script("window.scrollTo(0, 0)")
    button = find(page, "#theme")[0]
    button.click()
    assert page.execute_script(colour) != before, "the button does not change the colours"
    button.click()
    assert page.execute_script(colour) == before, "the button does not bring the colours back"


def nothing_is_too_wide(page):
    for size in (PHONE, DESKTOP):
        resize(page, size)
        width = page.execute_script("return document.documentElement.scrollWidth")
        assert width <= size[0], f"the page is {width} px wide in a window of {size[0]} px"
    resize(page, DESKTOP)


def hostile_text_stays_text(page):
    assert "<script>alert(1)</script>" in page.execute_script("return document.body.textContent"), "the label is missing"
    assert not find(page, "img"), "a label has become an element"
    scripts = [script.get_property("textContent") for script in find(page, "script")]
    assert not any(text.startswith("alert") for text in scripts), "a label has become a script"


def the_page_prints(page):
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 10_000, f"the print has {len(pdf)} bytes"


def nothing_else_was_asked_for(page):
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
    urls = {params["request"]["url"] for params in sent}
    # Downloads and pictures of the page itself are no requests to anybody.
    foreign = {url for url in urls if url != page.current_url.split("#")[0] and not url.startswith(("blob:", "data:"))}
    assert not foreign, f"the page asks for {foreign}"


def the_console_is_silent(page):
    complaints = [entry["message"] for entry in page.get_log("browser")]
    assert not complaints, f"the browser complains: {complaints[0]}"


def the_page_is_small(page):
    n_bytes = page.path.stat().st_size
    assert n_bytes < MAX_BYTES[page.path.stem], f"{page.path.name} has {n_bytes} bytes"


def it_can_be_read_without_scripts(page):
    text = find(page, "main")[0].text
    for words in ("Figures", "Environment", "Method"):
        assert words in text, f"there is no {words}"
    shown = [figure for figure in find(page, "figure.plot svg.comet") if figure.is_displayed()]
    assert shown, "no figure is shown"
    try:
        page.find_element(By.CSS_SELECTOR, "html[data-theme], .tools button")
    except NoSuchElementException:
        return
    raise AssertionError("scripts ran although they are off")


def links_open_what_is_folded_without_scripts(page):
    part = [part for part in find(page, "main details") if find(part, "figure.plot")][-1]
    assert part.get_attribute("open") is None, "a part is open from the start"
    last = find(part, "figure.plot")[-1].get_attribute("id")
    page.get(f"{page.path.as_uri()}#{last}")
    wait_until(lambda: part_of(page, last).get_attribute("open"), f"the link to {last} opens nothing")


def part_of(page, figure):
    """The folded part that holds a figure."""
    return page.find_element(By.XPATH, f"//figure[@id='{figure}']/ancestor::details[1]")


LIVE = (
    few_figures_are_open,
    few_tab_stops_precede_the_last_figure,
    arrows_move_in_legends,
    the_index_leads_into_folded_parts,
    unfold,
    figures_have_marks,
    titles_are_whole,
    units_have_one_spelling,
    phones_show_whole_figures,
    nobody_is_shut_out,
    dragging_zooms_and_reset_restores,
    legends_hide_curves,
    hovering_tells_the_value,
    tables_sort,
    figures_can_be_taken_away,
    every_figure_can_be_taken_away,
    the_theme_changes,
    nothing_is_too_wide,
    the_page_prints,
    the_page_is_small,
    nothing_else_was_asked_for,
    the_console_is_silent,
)


HOSTILE = (hostile_text_stays_text, *LIVE)
# Pages, their checks, and whether their scripts run.
PAGES = (
    ("standard", LIVE, True),
    ("both", HOSTILE, True),
    ("simulated", HOSTILE, True),
    ("measured", LIVE, True),
    ("two", (the_page_is_small,), True),
    ("simulated", (it_can_be_read_without_scripts, links_open_what_is_folded_without_scripts), False),
)


def check_page(folder, name, checks, scripts):
    """Runs the checks over a page in a browser of its own; returns those that pass."""
    page, passed = browser(scripts), []
    try:
        open_page(page, folder / f"{name}.html")
        save_into(page, folder / name)
        for check in checks:
            run(check, page, name, passed)
        if checks in (LIVE, HOSTILE):
            take_pictures(page, name)
    finally:
        page.quit()
    return passed


def open_page(page, path):
    """Opens a page in a window for a desk, and forgets what the one before has asked for."""
    page.path = path
    page.get_log("performance")
    resize(page, DESKTOP)
    prefer(page, "light")
    page.get(path.as_uri())


def save_into(page, folder):
    """Sends downloads into a folder of their own, without asking."""
    page.downloads = folder
    behaviour = {"behavior": "allow", "downloadPath": str(folder)}
    page.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)


def run(check, page, name, passed):
    words = check.__name__.replace("_", " ")
    try:
        check(page)
    except AssertionError as reason:
        raise SystemExit(f"{name}: {words}: {reason}\n{len(passed)} passed, 1 failed") from None
    passed.append(f"{name}: {words}")


def take_pictures(page, name):
    """Keeps what the page looks like, where the caller wants to see it."""
    folder = os.environ.get("COMET_SCREENSHOTS")
    if not folder:
        return
    # The page remembers a choice between light and dark.
    page.execute_script("localStorage.clear()")
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for look, size, scheme in (("light", DESKTOP, "light"), ("dark", DESKTOP, "dark"), ("phone", PHONE, "light")):
        resize(page, size)
        prefer(page, scheme)
        page.get(page.path.as_uri())
        height = page.execute_script("return document.documentElement.scrollHeight")
        resize(page, (size[0], min(height, 6000)))
        data = page.execute_cdp_cmd("Page.captureScreenshot", {})["data"]
        pathlib.Path(folder, f"{name}-{look}.png").write_bytes(base64.b64decode(data))


def main():
    folder, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    # Each browser keeps less than two cores busy.
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        tasks = [pool.submit(check_page, folder, *page) for page in PAGES if page[0] in names]
        passed = [words for task in tasks for words in task.result()]
    print(*passed, sep="\n")
    print(f"{len(passed)} passed, 0 failed")


if __name__ == "__main__":
    main()
