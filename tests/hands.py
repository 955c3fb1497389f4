"""Hands on the moving figures of an open page: a mouse, a finger, a keyboard."""

import functools


def figures(page):
    return page.locator(".gdn-figure").all()


def handles(page):
    """Each figure with each of its handles; a figure without handles has sliders instead."""
    for figure in figures(page):
        assert figure.locator("svg, canvas").count(), figure.get_attribute("data-figure")
        for handle in figure.locator(".gdn-handle").all():
            handle.scroll_into_view_if_needed()
            yield figure, handle


def controls(page):
    """Each figure with each thing in it that the keyboard reaches."""
    for figure in figures(page):
        found = figure.locator(".gdn-handle, input, button, select").all()
        assert found, f"{figure.get_attribute('data-figure')} has no control"
        yield from ((figure, control) for control in found)


def changes(figure, actions):
    """Does the readout change after any of the actions?"""
    readout = figure.locator(".gdn-readout")
    before = readout.all_inner_texts()
    assert any(text.strip() for text in before), "the readout is empty"
    for act in actions:
        act()
        if readout.all_inner_texts() != before:
            return True
    return False


def name(control):
    return control.evaluate("e => e.outerHTML.slice(0, 160)")


def drags_by_mouse(visit, handle):
    def drag(dx, dy):
        x, y = centre(handle)
        visit.page.mouse.move(x, y)
        visit.page.mouse.down()
        visit.page.mouse.move(x + dx, y + dy, steps=4)
        visit.page.mouse.up()

    return [lambda: drag(35, 25), lambda: drag(-35, -25)]


def drags_by_finger(visit, handle):
    session = visit.context.new_cdp_session(visit.page)

    def touch(kind, *points):
        touches = [{"x": x, "y": y} for x, y in points]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def drag(dx, dy):
        x, y = centre(handle)
        touch("touchStart", (x, y))
        touch("touchMove", (x + dx / 2, y + dy / 2))
        touch("touchMove", (x + dx, y + dy))
        touch("touchEnd")

    return [lambda: drag(30, 20), lambda: drag(-30, -20)]


def presses_of_keys(visit, control):
    def press(key):
        control.focus()
        visit.page.keyboard.press(key)

    tag = control.evaluate("e => e.tagName")
    keys = ["Enter"] if tag == "BUTTON" else ["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"]
    kind = control.evaluate("e => e.type")
    keys = {"text": ["a"], "radio": ["Space", *keys]}.get(kind, keys)
    return [functools.partial(press, key) for key in keys for _ in range(3)]


def centre(handle):
    box = handle.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
