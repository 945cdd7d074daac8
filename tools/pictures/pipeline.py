# SPDX-License-Identifier: MIT
"""The pipeline: from a token to the consumer's reload."""
from svg import BLUE, DIM, GREEN, LINE, PALE, Picture, PURPLE, TEXT

STEPS = [("1  source", ["reads the token,", "or asks for one"]), ("2  exchange", ["gets credentials", "for it"]),
         ("3  publish", ["all files at once,", "or not at all"]), ("4  reload", ["notifies the", "consumer"])]


def draw():
    p = Picture(860, 420, "The pipeline of credfresh",
                "A token or a Secret is read, exchanged at a cloud's token service, published, and the consumer is notified; "
                "again before the result expires and whenever the source changes.")
    # What it begins with.
    for i, text in enumerate(["kubelet: projected token", "API server: TokenRequest", "mounted Secret", "client secret, key"]):
        p.rect(16, 134 + i * 34, 168, 28, "#ffffff", LINE, 6)
        p.text(100, 152 + i * 34, text, TEXT, 12, anchor="middle")
    # The agent.
    p.rect(206, 112, 638, 172, PALE[DIM], LINE, 10)
    p.text(218, 132, "credfresh", TEXT, 14, True)
    p.line(186, 199, 219, 199, DIM, arrow="end")
    for i, (head, texts) in enumerate(STEPS):
        p.box(220 + i * 156, 160, 132, 78, BLUE, head, texts)
        if i < 3:
            p.line(353 + i * 156, 199, 375 + i * 156, 199, DIM, arrow="end")
    p.path("M754 239 V264 H286 V241", DIM, dash="4 3", arrow=True)
    p.text(520, 277, "again before it expires, and whenever the source changes", DIM, 12, anchor="middle")
    # The clouds.
    p.rect(290, 16, 304, 56, PALE[PURPLE], PURPLE, 6)
    p.text(442, 38, "token service of the cloud", PURPLE, 14, True, "middle")
    p.text(442, 58, "AWS, Google, Entra ID, Keystone, OAuth", TEXT, 12, anchor="middle")
    p.line(442, 74, 442, 157, DIM, arrow="both")
    p.text(450, 100, "HTTPS", DIM, 12)
    # The consumers.
    p.rect(206, 346, 638, 58, PALE[GREEN], GREEN, 8)
    p.text(525, 370, "your application and its SDK", GREEN, 14, True, "middle")
    p.text(525, 390, "never sees a partial, empty, mixed or shorter-lived credential", TEXT, 12, anchor="middle")
    for x, texts in ((442, ["local endpoint", "in the SDK's shape"]), (598, ["files, profiles,", "Secrets of the cluster"]),
                     (754, ["signal, command,", "HTTP, libcredfresh"])):
        p.line(x, 286, x, 344, DIM, arrow="end")
        p.lines(x - 8, 310, texts, DIM, 12, "end")
    return p.done()
