# SPDX-License-Identifier: MIT
"""What the pictures of docs/pictures are drawn with: shapes and text on a light card, which reads well on dark pages too."""
from xml.sax.saxutils import escape

TEXT, DIM, LINE = "#1f2328", "#59636e", "#d1d9e0"
BLUE, GREEN, AMBER, RED, PURPLE = "#0969da", "#1a7f37", "#9a6700", "#cf222e", "#8250df"
PALE = {BLUE: "#ddf4ff", GREEN: "#dafbe1", AMBER: "#fff8c5", RED: "#ffebe9", PURPLE: "#fbefff", DIM: "#f6f8fa"}
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


class Picture:
    def __init__(self, width, height, title, description):
        self.width, self.height = width, height
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="{FONT}" font-size="13" role="img" aria-labelledby="title description">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="description">{escape(description)}</desc>',
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="{DIM}"/></marker></defs>']
        self.rect(0.5, 0.5, width - 1, height - 1, "#ffffff", LINE, 8)

    def add(self, name, content=None, **attributes):
        words = "".join(f' {key.replace("_", "-")}="{number(value) if isinstance(value, float) else escape(str(value))}"'
                        for key, value in attributes.items() if value is not None)
        self.parts.append(f"<{name}{words}/>" if content is None else f"<{name}{words}>{escape(content)}</{name}>")

    def rect(self, x, y, width, height, fill, stroke=None, radius=0, dash=None, tip=None):
        attributes = dict(x=float(x), y=float(y), width=float(width), height=float(height), rx=radius or None, fill=fill,
                          stroke=stroke, stroke_dasharray=dash)
        if tip is None:
            self.add("rect", **attributes)
        else:
            self.add("rect", None, **attributes)
            self.parts[-1] = self.parts[-1][:-2] + f"><title>{escape(tip)}</title></rect>"

    def line(self, x1, y1, x2, y2, stroke=LINE, width=1, dash=None, arrow=None):
        """ARROW: "end", "both" or None."""
        self.add("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), stroke=stroke, stroke_width=width,
                 stroke_dasharray=dash, marker_end="url(#arrow)" if arrow else None,
                 marker_start="url(#arrow)" if arrow == "both" else None)

    def path(self, d, stroke=DIM, width=1, dash=None, arrow=False):
        self.add("path", d=d, fill="none", stroke=stroke, stroke_width=width, stroke_dasharray=dash,
                 marker_end="url(#arrow)" if arrow else None)

    def dot(self, x, y, radius, fill):
        self.add("circle", cx=float(x), cy=float(y), r=float(radius), fill=fill)

    def text(self, x, y, text, fill=TEXT, size=None, bold=False, anchor=None):
        """ANCHOR: "middle", "end" or None."""
        self.add("text", text, x=float(x), y=float(y), fill=fill, font_size=size, font_weight="600" if bold else None,
                 text_anchor=anchor)

    def lines(self, x, y, texts, fill=DIM, size=12, anchor=None, step=16):
        for i, text in enumerate(texts):
            self.text(x, y + i * step, text, fill, size, anchor=anchor)

    def box(self, x, y, width, height, colour, head, texts=()):
        """A box with a heading and lines of text."""
        self.rect(x, y, width, height, PALE[colour], colour, 6)
        self.text(x + width / 2, y + 22, head, colour if colour != DIM else TEXT, 14, True, "middle")
        self.lines(x + width / 2, y + 41, texts, TEXT, 12, "middle")

    def done(self):
        return "\n".join([*self.parts, "</svg>"]) + "\n"


class Axis:
    """Times on a horizontal line: FROM at X0, TO at X1."""

    def __init__(self, picture, x0, x1, start, end):
        self.picture, self.x0, self.x1, self.start, self.end = picture, x0, x1, start, end

    def x(self, at):
        return self.x0 + (min(max(at, self.start), self.end) - self.start) * (self.x1 - self.x0) / (self.end - self.start)

    def ticks(self, y, top, step, label):
        """Vertical lines from TOP to Y at each STEP, with LABEL(time) below."""
        at = self.start
        while at <= self.end:
            self.picture.line(self.x(at), top, self.x(at), y, "#eaeef2")
            self.picture.text(self.x(at), y + 15, label(at), DIM, 11, anchor="middle")
            at += step

    def bar(self, start, end, y, height, fill, stroke=None, radius=3, tip=None):
        self.picture.rect(self.x(start), y, self.x(end) - self.x(start), height, fill, stroke, radius, tip=tip)
