"""What the notebooks are given: data, the tiny transformer, the training loop, pictures.

One file, read top to bottom. The lines that begin with `# ========` cut it into sections and say which
notebooks get them: a notebook is given only what neither it nor a later one asks for.
Letters in shapes: batch, seq, d_model, n_heads, head_dim, vocab_size.
"""
# ======== for all: imports, the look of every picture, progress ========
import functools
import io
import math
import sys
import time
from dataclasses import dataclass

import matplotlib.pyplot as plt
import torch
import torch.nn as nn
import torch.nn.functional as F
from tqdm import tqdm

torch.set_num_threads(1)    # at these sizes a second thread only waits for the first

# One colour (Okabe and Ito's palette, told apart by colour-blind readers) and one marker for each method, in every picture.
METHODS = {
    "none": dict(color="#555555", marker="o"),
    "learned": dict(color="#D55E00", marker="s"),
    "sinusoidal": dict(color="#CC79A7", marker="^"),
    "RoPE": dict(color="#0072B2", marker="D"),
    "ALiBi": dict(color="#009E73", marker="v"),
}
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555"]
plt.rcParams.update({
    "figure.dpi": 100, "figure.facecolor": "white", "savefig.facecolor": "white", "figure.constrained_layout.use": True,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11, "axes.titlelocation": "left",
    "axes.labelsize": 10, "legend.frameon": False, "image.cmap": "cividis",
})
PICTURES = []   # the text of every picture shown so far
_canvas = None  # where show() puts a picture while a slider of explore() redraws it


def show(fig, alt):
    """Show a finished figure with a text for those who cannot see it, and close it."""
    png = io.BytesIO()
    fig.savefig(png, format="png")
    plt.close(fig)
    PICTURES.append(alt)
    try:
        from IPython.display import display
    except ImportError:
        print(alt)
        return
    place = display if _canvas is None else _canvas.update
    place({"image/png": png.getvalue(), "text/plain": alt}, metadata={"image/png": {"alt": alt}}, raw=True)


def explore(draw, alt="", **ranges):
    """Call draw(**values) from sliders, one for each `name=(first, last, start)`.

    The picture stands below the sliders as an ordinary output, so that it is there, at the starts, in a place
    without widgets too (on paper, on a web page, where ipywidgets is missing).
    """
    try:
        import ipywidgets
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        def get_ipython():
            return None
    if get_ipython() is None:
        draw(**{name: start for name, (_, _, start) in ranges.items()})
        return
    sliders = {name: ipywidgets.IntSlider(min=first, max=last, value=start, description=name, continuous_update=False)
               for name, (first, last, start) in ranges.items()}
    display(ipywidgets.VBox(list(sliders.values())))
    picture = display({"text/plain": alt}, raw=True, display_id=True)

    def redraw(change=None):
        global _canvas
        _canvas = picture
        try:
            draw(**{name: slider.value for name, slider in sliders.items()})
        finally:
            _canvas = None

    for slider in sliders.values():
        slider.observe(redraw, "value")
    redraw()


class OneLine(io.StringIO):
    """What tqdm writes to, in a notebook: an output of one line that is written over, so that only its last state stays on the page."""

    def __init__(self, display):
        super().__init__()
        self.line = display({"text/plain": ""}, raw=True, display_id=True)

    def write(self, text):
        text = text.strip("\r\n ")
        if text:
            self.line.update({"text/plain": text}, raw=True)


def progress(steps, label):
    """A progress bar over range(steps), with the seconds left; as an output of its own in a notebook, on stdout elsewhere."""
    try:
        from IPython import get_ipython
        from IPython.display import display
        file = sys.stdout if get_ipython() is None else OneLine(display)
    except ImportError:
        file = sys.stdout
    return tqdm(range(steps), desc=label, file=file, ncols=88, mininterval=0.25, ascii=False)


class Interrupted(KeyboardInterrupt):
    """You stopped a training. Says so in a sentence in place of a traceback."""

    def _render_traceback_(self):
        return [f"Interrupted: {self}"]


def interruptible(train):
    """For a function that trains: interrupting it says what that means. Its result was not there yet, so nothing is left half done."""
    @functools.wraps(train)
    def careful(*args, **kwargs):
        try:
            return train(*args, **kwargs)
        except KeyboardInterrupt:
            print()
            raise Interrupted("you stopped the training. Nothing of it is kept, and what was there before is unchanged. "
                              "Run this cell again to train from the start, or go on elsewhere.") from None
    return careful
# ======== for 01: the lesson in one minute ========
from textwrap import wrap

import matplotlib.patches as mpatches

MINUTE = (      # title, sentence; the pictures are drawn by minute_ids, minute_rows, minute_bag, minute_turn
    ("1 · A word becomes an id", "The id is a slot number. 7 is not “more” than 2."),
    ("2 · The id picks a row", "What a network can calculate with is the row, and rows are learned."),
    ("3 · Attention alone sees a bag", "Shuffle the words: the same rows, in no order. Who bites whom is lost."),
    ("4 · A turn tells the place", "Each place turns its vector a step further. The angle between two tells how far apart they are."),
)
MINUTE_WORDS = {"dog": (2, "#0072B2"), "bites": (5, "#D55E00"), "man": (7, "#009E73")}     # word -> id, colour


def minute_box(ax, x, y, text, color, size, width=1.7, filled=True):
    """A labelled box around (x, y)."""
    ax.add_patch(mpatches.FancyBboxPatch((x - width / 2, y - 0.42), width, 0.84, boxstyle="round,pad=0,rounding_size=0.16",
                                         facecolor=color if filled else "white", edgecolor=color, linewidth=1.6))
    ax.text(x, y, text, ha="center", va="center", fontsize=size, color="white" if filled else color)


def minute_arrow(ax, start, end, color="#777777", bend=0.0):
    """A thin arrow."""
    ax.add_patch(mpatches.FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=11, color=color, linewidth=1.3, shrinkA=2, shrinkB=2,
                                          connectionstyle=f"arc3,rad={bend}"))


def minute_ids(ax, size):
    """Three words, three slot numbers."""
    for x, (word, (number, color)) in zip((2, 5, 8), MINUTE_WORDS.items()):
        minute_box(ax, x, 4.1, word, color, size)
        minute_arrow(ax, (x, 3.6), (x, 2.3))
        minute_box(ax, x, 1.8, str(number), color, size * 1.15, 1.0, filled=False)
    ax.text(0.15, 4.1, "text", fontsize=size * 0.8, color="#555555", va="center")
    ax.text(0.15, 1.8, "ids", fontsize=size * 0.8, color="#555555", va="center")


def minute_rows(ax, size):
    """The ids pick rows of a table."""
    table = torch.rand(9, 6, generator=torch.Generator().manual_seed(4))
    left, cell = 3.3, 0.5
    ax.text(left + 3 * cell, 5.32, "the table", fontsize=size * 0.8, color="#555555", ha="center")
    for r in range(9):
        y = 5.15 - cell * (r + 1)
        for c in range(6):
            ax.add_patch(plt.Rectangle((left + cell * c, y), cell, cell, facecolor=plt.cm.Greys(0.12 + 0.6 * table[r, c].item()), edgecolor="white", linewidth=0.8))
        ax.text(left - 0.15, y + cell / 2, str(r), fontsize=size * 0.7, color="#777777", ha="right", va="center")
    for place, (number, color) in zip((4.3, 2.9, 1.5), MINUTE_WORDS.values()):
        y = 5.15 - cell * (number + 1)
        ax.add_patch(plt.Rectangle((left, y), 6 * cell, cell, fill=False, edgecolor=color, linewidth=2.6, zorder=3))
        minute_box(ax, 1.1, place, str(number), color, size * 1.1, 0.95, filled=False)
        minute_arrow(ax, (1.6, place), (left - 0.42, y + cell / 2), color)
        minute_arrow(ax, (left + 6 * cell + 0.02, y + cell / 2), (7.15, place), color)
        for c in range(6):
            ax.add_patch(plt.Rectangle((7.2 + 0.42 * c, place - 0.21), 0.42, 0.42, facecolor=plt.cm.Greys(0.12 + 0.6 * table[number, c].item()), edgecolor="white", linewidth=0.8))
        ax.add_patch(plt.Rectangle((7.2, place - 0.21), 0.42 * 6, 0.42, fill=False, edgecolor=color, linewidth=2))


def minute_bag(ax, size):
    """Two sentences with opposite meanings, one bag."""
    words = list(MINUTE_WORDS)
    for y, order in ((4.55, words), (1.05, words[::-1])):
        for i, word in enumerate(order):
            minute_box(ax, 0.95 + 1.62 * i, y, word, MINUTE_WORDS[word][1], size * 0.88, 1.45)
    ax.text(2.57, 2.8, "opposite meanings,\none and the same bag", fontsize=size * 0.85, ha="center", va="center", color="#333333")
    bag = [(7.0, 4.75), (7.25, 4.3), (6.35, 3.6), (6.15, 1.3), (6.9, 0.55), (9.1, 0.55), (9.85, 1.3), (9.65, 3.6), (8.75, 4.3), (9.0, 4.75)]
    line = torch.tensor(bag + bag[:1])
    ax.fill(line[:, 0], line[:, 1], facecolor="#F3EBDD", edgecolor="#8A6D3B", linewidth=1.8, joinstyle="round", zorder=0)
    ax.plot([7.25, 8.75], [4.3, 4.3], color="#8A6D3B", linewidth=2.2)
    for (x, y), word in zip(((7.5, 1.2), (8.3, 3.35), (8.65, 2.27)), words):
        minute_box(ax, x, y, word, MINUTE_WORDS[word][1], size * 0.88, 1.45)
    minute_arrow(ax, (5.05, 4.55), (6.9, 3.55), bend=-0.25)
    minute_arrow(ax, (5.05, 1.05), (6.75, 2.3), bend=0.25)


def minute_turn(ax, size):
    """The same vector at four places, a step further round at each."""
    step = math.radians(35)
    for place in range(4):
        x, y, r = 1.35 + 2.43 * place, 2.55, 1.02
        ax.add_patch(plt.Circle((x, y), r, fill=False, edgecolor="#BBBBBB", linewidth=1.2))
        ax.plot([x, x + r], [y, y], color="#BBBBBB", linewidth=1, linestyle=":")
        if place:
            ax.add_patch(mpatches.Wedge((x, y), 0.52, 0, math.degrees(step) * place, facecolor="#CFE3F1", edgecolor="none"))
        minute_arrow(ax, (x, y), (x + 1.1 * r * math.cos(step * place), y + 1.1 * r * math.sin(step * place)), "#0072B2")
        ax.text(x, 1.18, f"place {place}", fontsize=size * 0.85, ha="center", va="center")
        ax.text(x, 0.7, f"{35 * place}°", fontsize=size * 0.85, ha="center", va="center", color="#0072B2")
    for a, b, y in ((0, 1, 3.95), (2, 3, 3.95), (1, 3, 4.85)):
        left, right = 1.35 + 2.43 * a, 1.35 + 2.43 * b
        ax.annotate("", (right, y), (left, y), arrowprops=dict(arrowstyle="<->", color="#555555"))
        ax.text((left + right) / 2, y + 0.3, f"{b - a} apart: {35 * (b - a)}°", fontsize=size * 0.8, ha="center", va="center", color="#333333")


def draw_minute(picture=0):
    """One of the four pictures, or all of them (0)."""
    drawings = (minute_ids, minute_rows, minute_bag, minute_turn)
    chosen = range(4) if picture == 0 else [picture - 1]
    fig, axes = plt.subplots(2 if picture == 0 else 1, 2 if picture == 0 else 1, figsize=(9.6, 6.7) if picture == 0 else (7.6, 5.2), squeeze=False, layout="none")
    fig.subplots_adjust(0.02, 0.02, 0.98, 0.94 if picture == 0 else 0.91, 0.06, 0.12)
    size = 10.5 if picture == 0 else 15
    for ax, number in zip(axes.flat, chosen):
        title, sentence = MINUTE[number]
        ax.set(xlim=(0, 10), ylim=(-0.55, 5.6))
        ax.set_aspect("equal", anchor="NW")
        ax.axis("off")
        drawings[number](ax, size)
        ax.set_title(title, fontsize=size * 1.1, fontweight="bold")
        ax.text(0.05, -0.1, "\n".join(wrap(sentence, 72)), fontsize=size * 0.84, va="center", color="#333333")
    show(fig, " ".join(f"{MINUTE[number][0]}: {MINUTE[number][1]}" for number in chosen))


def show_minute():
    """The lesson in four pictures: all at once, or one by one with a slider."""
    explore(draw_minute, "The lesson in four pictures", picture=(0, 4, 0))
# ======== for 01: a small grammar, a bigram model, and the pictures of 01 ========
GRAMMAR = {     # class -> its words; "saw" is in two of them: "the girl saw the saw"
    "determiner": ["the", "a"],
    "adjective": ["hot", "cold", "big", "small"],
    "noun": ["dog", "cat", "girl", "boy", "bird", "saw"],
    "verb": ["saw", "liked", "chased", "found", "heard"],
    "stop": ["."],
}
WORD_CLASS = {w: ("two roles" if sum(w in ws for ws in GRAMMAR.values()) > 1 else c) for c, ws in GRAMMAR.items() for w in ws}
# Ids are dealt out at random, so that no class has neighbouring ids.
LEXICON = [sorted(WORD_CLASS)[i] for i in torch.randperm(len(WORD_CLASS), generator=torch.Generator().manual_seed(7))]
WORD_ID = {word: i for i, word in enumerate(LEXICON)}
WORD_CLASS_STYLE = {"determiner": ("#555555", "o"), "adjective": ("#CC79A7", "^"), "noun": ("#0072B2", "s"),
               "verb": ("#D55E00", "D"), "two roles": ("#009E73", "P"), "stop": ("#000000", "X")}


def grammar_text(n, seed=0):
    """n sentences of the grammar in one row of ids: determiner [adjective] noun verb determiner [adjective] noun stop."""
    pick = torch.Generator().manual_seed(seed)

    def one(kind):
        words = GRAMMAR[kind]
        return words[torch.randint(len(words), (1,), generator=pick).item()]

    def group():
        adjective = [one("adjective")] if torch.rand(1, generator=pick) < 0.5 else []
        return [one("determiner"), *adjective, one("noun")]

    return torch.tensor([WORD_ID[w] for _ in range(n) for w in [*group(), one("verb"), *group(), "."]])


@interruptible
def train_rows(d_model=16, steps=300, seed=0):
    """Train a table and one linear layer to guess the next word from this one. -> (rows before, rows after, losses)"""
    torch.manual_seed(seed)
    text = grammar_text(600, seed)
    table = nn.Embedding(len(LEXICON), d_model)
    nn.init.normal_(table.weight, std=0.1)      # small at first, so that what is learned outweighs the dice
    head = nn.Linear(d_model, len(LEXICON))
    before = table.weight.detach().clone()
    optimizer = torch.optim.AdamW([*table.parameters(), *head.parameters()], lr=0.02, weight_decay=0.1)
    losses, bar = [], progress(steps, "the rows find their places")
    for step in bar:
        at = torch.randint(len(text) - 1, (256,))
        loss = F.cross_entropy(head(table(text[at])), text[at + 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0 or step == steps - 1:
            bar.set_postfix_str(f"loss {loss.item():.3f}", refresh=False)
    return before, table.weight.detach().clone(), losses


def draw_table(table, ids, words, guess=""):
    """The whole table as a heat map; the rows that the ids look up are framed and named."""
    fig, ax = plt.subplots(figsize=(7, 4.2))
    image = ax.imshow(table, aspect="auto", cmap="cividis")
    fig.colorbar(image, ax=ax, label="value")
    for i in sorted(set(ids)):
        ax.add_patch(plt.Rectangle((-0.5, i - 0.5), table.shape[1], 1, fill=False, edgecolor="#D55E00", linewidth=2.5))
    ax.set_yticks(range(len(words)), [f"{w}  {i}" for i, w in enumerate(words)], fontsize=8)
    ax.set(title=f"The table: one row a token. Lit: {' '.join(words[i] for i in ids)}", xlabel="feature (column of the table)", ylabel="token and its id")
    show(fig, f"Heat map of a table with {len(words)} rows and {table.shape[1]} columns; the rows {ids} are framed: they lie far apart.")


def show_table(sentence="the dog chased a bird"):
    """Slide over a sentence; the row of the word that is read lights up."""
    words = sentence.split()
    torch.manual_seed(0)
    table = torch.randn(len(LEXICON), 16)

    def draw(word):
        draw_table(table, [WORD_ID[w] for w in words[:word + 1]], LEXICON)

    explore(draw, "the rows of a sentence light up one by one", word=(0, len(words) - 1, len(words) - 1))


def show_lookup(lookup):
    """ids in, rows out, with the shapes on the arrow."""
    table = torch.arange(6.0).view(6, 1).expand(6, 4).contiguous() + torch.arange(4.0) / 10
    ids = torch.tensor([[4, 1, 4]])
    out = lookup(table, ids)
    fig, axes = plt.subplots(1, 3, figsize=(8, 3), width_ratios=[1, 1.3, 1.3])
    for ax, values, title in zip(axes, [ids.T, table, out[0]], [f"ids {tuple(ids.shape)}", f"table {tuple(table.shape)}", f"vectors {tuple(out.shape)}"]):
        ax.imshow(values, aspect="auto", vmin=0, vmax=6, cmap="cividis")
        for r in range(values.shape[0]):
            for c in range(values.shape[1]):
                v = values[r, c].item()
                ax.text(c, r, f"{v:.0f}" if values.dtype == torch.int64 else f"{v:.1f}", ha="center", va="center", color="white" if v < 3.2 else "black")
        ax.set(title=title, xticks=[], xlabel="feature" if values.shape[1] > 1 else "id")
    axes[0].set_yticks(range(3), ["place 0", "place 1", "place 2"])
    axes[1].set_yticks(range(6), [f"row {i}" for i in range(6)])
    axes[2].set_yticks(range(3), ["place 0", "place 1", "place 2"])
    fig.suptitle("Three ids in, three rows out", x=0.02, ha="left")
    show(fig, "Ids 4, 1, 4 pick rows 4, 1 and 4 of a table of six rows; shape (1, 3) becomes (1, 3, 4).")


def show_one_hot(lookup, one_hot, lookup_by_matmul):
    """One lit cell times the table is one row; and how long both ways take at GPT-2's size."""
    table, ids = torch.zeros(50257, 768), torch.tensor([[464, 3290, 13]])
    seconds = {}
    for name, way in (("indexing", lookup), ("one-hot product", lookup_by_matmul)):
        way(table, ids)
        start = time.perf_counter()
        for _ in range(3):
            way(table, ids)
        seconds[name] = (time.perf_counter() - start) / 3
    small, one = torch.randn(6, 4, generator=torch.Generator().manual_seed(1)), one_hot(torch.tensor([4]), 6)
    fig, axes = plt.subplots(1, 4, figsize=(9, 2.8), width_ratios=[1.5, 1, 1, 1.5])
    axes[0].imshow(one, cmap="cividis")
    axes[0].set(title="one-hot of id 4  (1, 6)", xticks=range(6), yticks=[], xlabel="id")
    axes[1].imshow(small, cmap="cividis", aspect="auto")
    axes[1].add_patch(plt.Rectangle((-0.5, 3.5), 4, 1, fill=False, edgecolor="#D55E00", linewidth=2.5))
    axes[1].set(title="× table  (6, 4)", xticks=[], yticks=range(6), xlabel="feature", ylabel="row")
    axes[2].imshow(one @ small, cmap="cividis", vmin=small.min(), vmax=small.max())
    axes[2].set(title="= row 4  (1, 4)", xticks=[], yticks=[], xlabel="feature")
    bars = axes[3].barh(list(seconds), [1000 * s for s in seconds.values()], color=["#0072B2", "#D55E00"])
    axes[3].bar_label(bars, [f"{1000 * s:.2f} ms" for s in seconds.values()], padding=3)
    axes[3].set(title="3 tokens, GPT-2's table", xlabel="milliseconds", xlim=(0, 1350 * max(seconds.values())))
    show(fig, f"A one-hot row times a table gives one row. Time for three tokens: {', '.join(f'{n} {1000 * s:.2f} ms' for n, s in seconds.items())}.")


def show_gradient(grad, title="Gradient of the table after one sentence"):
    """The gradient of every row, as a heat map with the words beside it."""
    fig, ax = plt.subplots(figsize=(6, 4))
    image = ax.imshow(grad, aspect="auto", cmap="cividis", vmin=0)
    fig.colorbar(image, ax=ax, label="gradient")
    ax.set_yticks(range(len(LEXICON)), [f"{w}  {i}" for i, w in enumerate(LEXICON)], fontsize=8)
    ax.set(title=title, xlabel="feature (column of the table)", ylabel="token and its id")
    lit = [LEXICON[i] for i in range(len(LEXICON)) if grad[i].abs().sum() > 0]
    show(fig, f"Gradient of the table: only the rows of {', '.join(lit)} are lit; a word that came twice is twice as bright.")


def plane(rows):
    """The two directions along which the rows differ most. (n, d) -> (n, 2)"""
    centred = rows - rows.mean(0)
    return centred @ torch.linalg.svd(centred, full_matrices=False).Vh[:2].T


def show_clusters(before, after, guess=""):
    """The rows in two dimensions, before and after training; a marker and a colour for each class of words."""
    fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.6))
    for ax, rows, title in zip(axes, (before, after), ("before training", "after training")):
        xy = plane(rows)
        for kind, (color, marker) in WORD_CLASS_STYLE.items():
            at = [WORD_ID[w] for w in LEXICON if WORD_CLASS[w] == kind]
            ax.scatter(xy[at, 0], xy[at, 1], color=color, marker=marker, s=45, label=kind, zorder=3)
        reach = xy.abs().max()
        heights = []        # labels stand in a column beside each crowd, so that none covers another
        for i in sorted(range(len(LEXICON)), key=lambda i: -xy[i, 1].item()):
            x, y = xy[i].tolist()
            side = 1 if x >= 0 else -1
            place = y
            while any(s == side and abs(x - q) < 0.9 * reach and abs(place - p) < 0.125 * reach for s, q, p in heights):
                place -= 0.02 * reach
            heights.append((side, x, place))
            ax.annotate(f"{LEXICON[i]} {i}", (x, y), (x + side * 0.22 * reach, place), fontsize=8, ha="left" if side > 0 else "right", va="center",
                        arrowprops=dict(arrowstyle="-", color="#999999", linewidth=0.6))
        ax.set(title=title, xlabel="first direction of spread", ylabel="second direction of spread")
        ax.margins(0.42, 0.15)
        ax.set_ylim(min(ax.get_ylim()[0], min(p for _, _, p in heights) - 0.1 * reach), None)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    if guess:
        fig.suptitle(f"You guessed {guess} as the nearest word to “hot”", x=0.02, ha="left")
    show(fig, "Rows of the table in two dimensions. Before: a mixture. After: adjectives, nouns and verbs in three crowds, “cold” beside “hot”, "
              "“saw” between nouns and verbs, the full stop among the verbs.")


def show_share(shares, guess=""):
    """Stacked bars: the table against the blocks. shares: {name: (parameters of the table, its share of all)}"""
    fig, ax = plt.subplots(figsize=(7, 2.6))
    for y, (name, (count, share)) in enumerate(shares.items()):
        ax.barh(y, share, color="#D55E00", label="table" if y == 0 else None)
        ax.barh(y, 1 - share, left=share, color="#56B4E9", hatch="//", edgecolor="white", label="blocks" if y == 0 else None)
        ax.text(1.02, y, f"{share:.0%} of {count / share / 1e6:,.1f} M", va="center")
    ax.set_yticks(range(len(shares)), list(shares))
    ax.set(title="How much of the model is its table?", xlabel="share of all parameters", ylabel="model", xlim=(0, 1.35), xticks=[0, 0.25, 0.5, 0.75, 1])
    ax.invert_yaxis()
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, -0.32), ncols=2)
    show(fig, "Share of the token table: " + ", ".join(f"{n} {s:.0%}" for n, (c, s) in shares.items()) + ".")


def show_first_losses(losses, floor):
    """Bars of the loss before any step, beside ln(vocab_size). losses: {name: nats}"""
    fig, ax = plt.subplots(figsize=(6.5, 2.4))
    bars = ax.barh(list(losses), list(losses.values()), color=PALETTE[:len(losses)])
    ax.bar_label(bars, [f"{v:.2f}" for v in losses.values()], padding=3)
    ax.axvline(floor, color="black", linestyle="--")
    ax.annotate(f"ln V = {floor:.2f}", (floor, 0.5), (floor + 1.2, 0.5), va="center", arrowprops=dict(arrowstyle="->"))
    ax.set(title="Loss before the first step", xlabel="nats", ylabel="start of the rows", xlim=(0, 1.15 * max(*losses.values(), floor)))
    ax.invert_yaxis()
    show(fig, "Loss before the first step: " + ", ".join(f"{n} {v:.2f}" for n, v in losses.items()) + f"; ln V is {floor:.2f}.")


def show_nearest(with_inputs, without):
    """Two ranked lists side by side: the nearest words with and without the words that were put in."""
    fig, axes = plt.subplots(1, 2, figsize=(7, 2.6), sharex=True)
    for ax, ranked, title in zip(axes, (with_inputs, without), ("all words", "without the three that went in")):
        words, values = zip(*ranked)
        bars = ax.barh(range(len(words)), values, color="#0072B2")
        ax.bar_label(bars, [f"{v:.2f}" for v in values], padding=3)
        ax.set_yticks(range(len(words)), words)
        ax.invert_yaxis()
        ax.set(title=title, xlabel="cosine", xlim=(0, 1.25))
    axes[0].set_ylabel("nearest to dog − cat + girl")
    show(fig, f"Nearest words to dog minus cat plus girl: {with_inputs[0][0]} leads with the inputs, {without[0][0]} without them.")


def row_moves(steps=4, rows=6, d_model=8, lr=0.01):
    """How far rows move in steps in which their gradient is zero. -> {optimiser: {"seen before": length, "never seen": length}}

    Row 0 gets a gradient in one first step and none in the next ones; row 5 never gets one.
    """
    moved = {}
    for name, make in {"SGD": torch.optim.SGD, "Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW}.items():
        torch.manual_seed(0)
        table = nn.Embedding(rows, d_model)
        optimizer = make(table.parameters(), lr=lr)
        start = None
        for step in range(steps + 1):
            if step == 1:
                start = table.weight.detach().clone()
            optimizer.zero_grad()
            table(torch.tensor([0 if step == 0 else 3])).sum().backward()
            optimizer.step()
        length = (table.weight.detach() - start).norm(dim=1)
        moved[name] = {"seen before": length[0].item(), "never seen": length[5].item()}
    return moved


def show_moves(moved):
    """Bars of the lengths that row_moves measured."""
    fig, ax = plt.subplots(figsize=(6.5, 2.8))
    for k, (case, color, hatch) in enumerate((("seen before", "#0072B2", ""), ("never seen", "#E69F00", "//"))):
        values = [moved[o][case] for o in moved]
        bars = ax.bar([i + 0.4 * k for i in range(len(moved))], values, 0.38, color=color, hatch=hatch, edgecolor="white", label=f"row {case}")
        ax.bar_label(bars, [f"{v:.1g}" if v else "0" for v in values], padding=2)
    ax.set_xticks([i + 0.2 for i in range(len(moved))], list(moved))
    ax.set(title="Four steps in which the row's gradient is zero", xlabel="optimiser", ylabel="length that the row moved")
    ax.margins(y=0.2)
    ax.legend()
    show(fig, "Length that a row moved in four steps of zero gradient: " + "; ".join(f"{o}: seen before {m['seen before']:.2g}, never seen {m['never seen']:.2g}" for o, m in moved.items()) + ".")
# ======== for 02: layers to shuffle, a jury for the detector, and pictures of both ========
class BlackBox(nn.Module):
    """Torch's own attention, one layer or more, with nothing around it. x: (batch, seq, d_model) -> the same shape.

    No positions. `.weights` is who looked at whom in the last call, (batch, seq, seq), mean over the heads.
    """

    def __init__(self, d_model=64, n_heads=4, n_layers=1, causal=False, dtype=torch.float32, seed=0):
        super().__init__()
        with torch.random.fork_rng(devices=[]):     # leaves your own random numbers alone
            torch.manual_seed(seed)
            self.layers = nn.ModuleList(nn.MultiheadAttention(d_model, n_heads, batch_first=True) for _ in range(n_layers))
        with torch.no_grad():
            for layer in self.layers:
                layer.in_proj_weight.mul_(2)        # sharper looks than at the start of training
        self.causal = causal
        self.to(dtype).eval()

    @torch.no_grad()
    def forward(self, x):
        seq = x.shape[1]
        mask = torch.ones(seq, seq, dtype=torch.bool).triu(1) if self.causal else None   # True: may not look there
        for layer in self.layers:
            x, self.weights = layer(x, x, x, attn_mask=mask)
        return x


def word_vectors(text, d_model=64, dtype=torch.float32):
    """One vector for each word, always the same for the same word. -> (1, number of words, d_model)"""
    rows = [torch.randn(d_model, generator=torch.Generator().manual_seed(sum(ord(c) * 31 ** i for i, c in enumerate(word)) % 2 ** 31), dtype=torch.float64)
            for word in text.split()]
    return torch.stack(rows)[None].to(dtype)


# ---- the jury: layers as text, so that a check can build them on either side

LAYER_TEXT = """
import torch
import torch.nn as nn
import torch.nn.functional as F

seq, d_model = {seq}, {d_model}

def attention(n_heads=2, dropout=0.0):
    layer = nn.MultiheadAttention(d_model, n_heads, dropout=dropout, batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.mul_(2)
    return layer

def look(layer, x, mask=None):
    return layer(x, x, x, attn_mask=mask, need_weights=False)[0]

later = torch.ones(seq, seq, dtype=torch.bool).triu(1)

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        {parts}

    def forward(self, x):
        return {out}

with torch.random.fork_rng(devices=[]):
    torch.manual_seed({seed})
    layer = Layer().eval()
"""


def layer_source(out, parts="pass", seq=7, d_model=16, seed=0):
    """The text of a layer named `layer`: x (batch, seq, d_model) -> out, an expression in x and self."""
    return LAYER_TEXT.format(out=out, parts=parts, seq=seq, d_model=d_model, seed=seed)


def build(source):
    """The layer that such a text describes."""
    space = {}
    exec(source, space)
    return space["layer"]


_ATTENTION, _PLACES = "self.a = attention()", "self.a, self.places = attention(), torch.randn(seq, d_model)"
JURY_PARADE = {  # name: (does the sum stay, what comes out, its parts)
    "attention": (True, "look(self.a, x.float())", "self.a = attention(dropout=0.3)"),      # eval mode: dropout is off
    "causal": (False, "F.layer_norm(look(self.a, x.float(), later), (d_model,))", _ATTENTION),
    "with positions": (False, "look(self.a, x.float() + self.places)", _PLACES),
    "mean pool": (True, "x.mean(1, keepdim=True)", "pass"),
    "running sum": (False, "x.cumsum(1)", "pass"),
    "identity": (True, "x", "pass"),
}
JURY_SLY = {    # the four that wait in the check
    "ring": (False, "torch.tanh(x + x.roll(1, 1) + x.roll(-1, 1))", "pass"),
    "faint": (False, "look(self.a, x.float() + 0.02 * self.places)", _PLACES),
    "moody": (False, "x.cumsum(1) if x[..., 0].sum() > x[..., 1].sum() else x", "pass"),
    "reversed": (True, "x.flip(1)", "pass"),
}
JURY_HARD = {    # sixteen that see the order, ten that do not
    "causal": (False, "look(self.a, x.float(), later)", _ATTENTION),
    "causal, twice": (False, "look(self.b, look(self.a, x.float(), later), later)", "self.a, self.b = attention(), attention()"),
    "one look forbidden": (False, "look(self.a, x.float(), self.mask)", _ATTENTION + "; self.mask = torch.zeros(seq, seq).bool(); self.mask[0, -1] = True"),
    "big positions": (False, "look(self.a, x.float() + self.places)", _PLACES),
    "small positions": (False, "look(self.a, x.float() + 0.02 * self.places)", _PLACES),
    "position in one feature": (False, "look(self.a, torch.cat([x[..., :1] + 0.3 * torch.arange(seq)[:, None], x[..., 1:]], -1).float())", _ATTENTION),
    "running sum": (False, "x.cumsum(1)", "pass"),
    "running mean": (False, "x.cumsum(1) / torch.arange(1, seq + 1)[:, None]", "pass"),
    "weights 1 to 1.05": (False, "x * torch.linspace(1, 1.05, seq)[:, None]", "pass"),
    "last place counts double": (False, "torch.cat([x, x[:, -1:]], 1)", "pass"),
    "ring of neighbours": (False, "torch.tanh(x + x.roll(1, 1) + x.roll(-1, 1))", "pass"),
    "near ones count double": (False, "look(self.a, x.float(), self.bonus)", _ATTENTION + "; i = torch.arange(seq); self.bonus = ((i[:, None] - i).abs() <= 1) * 0.7"),
    "convolution": (False, "self.c(x.float().transpose(1, 2)).transpose(1, 2)", "self.c = nn.Conv1d(d_model, d_model, 3, padding=1)"),
    "reads left to right": (False, "self.r(x.float())[0]", "self.r = nn.GRU(d_model, d_model, batch_first=True)"),
    "moody": (False, "x.cumsum(1) if x[..., 0].sum() > x[..., 1].sum() else x", "pass"),
    "whisper with positions": (False, "1e-6 * look(self.a, x.float() + self.places)", _PLACES),
    "two layers, dropout off": (True, "self.b(self.a(x.float()))", "self.a, self.b = (nn.TransformerEncoderLayer(d_model, 2, 2 * d_model, 0.3, batch_first=True) for _ in range(2))"),
    "float64 inside": (True, "look(self.a, x.double())", "self.a = attention().double()"),
    "shout": (True, "1000 * look(self.a, x.float())", _ATTENTION),
    "whisper": (True, "1e-6 * look(self.a, x.float())", _ATTENTION),
    "minus the mean": (True, "x - x.mean(1, keepdim=True)", "pass"),
    "only zeros": (True, "0 * x", "pass"),
    "positions, all zero yet": (True, "look(self.a, x.float() + 0 * self.places)", _PLACES),
    "attends along the batch": (True, "look(self.a, x.float().transpose(0, 1)).transpose(0, 1)", _ATTENTION),
    "last one first": (True, "x.flip(1)", "pass"),
    "token by token": (True, "self.m(x.float())", "self.m = nn.Sequential(nn.Linear(d_model, 32), nn.GELU(), nn.Linear(32, d_model))"),
}


def judge(work, detector, jury, seq=7, d_model=16, trials=8, seed=0):
    """Hand every layer of the jury to the detector; go on if all its verdicts are right, otherwise say which are not."""
    import check
    said = {}
    for i, (name, (truth, out, parts)) in enumerate(jury.items()):
        layer = work.define(layer_source(out, parts, seq, d_model, seed + i), "layer")
        got = work.call(detector, layer, seq=seq, d_model=d_model, trials=max(trials, 40) if name == "moody" else trials)
        if isinstance(got, torch.Tensor) and got.numel() == 1:
            got = got.item()
        check.expect(isinstance(got, bool), "True or False", f"a {type(got).__name__}: {check.brief(got)}", hint="The sum stays for every shuffle you tried, or it does not.")
        said[name] = got
    wrong = [name for name in jury if said[name] != jury[name][0]]
    if not wrong:
        return
    if len(set(said.values())) == 1 and len(said) > 1:
        looks = "a shuffle that moves nothing, tokens that are all alike, or a comparison that forgives everything" if said[wrong[0]] else \
            "rows compared in their old places, or a comparison with no room for rounding"
    elif all(said[name] for name in wrong):
        looks = "shuffles that are too special, too few trials, or a tolerance that forgives a small change"
    elif not any(said[name] for name in wrong):
        looks = "rows compared place by place, no room for this layer's rounding, or a switch to train mode"
    else:
        looks = "a comparison of the wrong two things, or a tolerance that does not fit the size of the numbers"
    names = ", ".join(f"“{name}”" for name in wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    one_kind = len({said[name] for name in wrong}) == 1
    raise check.Failed(f"{not said[wrong[0]]} for {names}" if one_kind else f"the other verdict for {names}",
                       f"{said[wrong[0]]}" if one_kind else "both kinds of mistake", looks,
                       "Try one of them by hand: print your shuffle, and the largest change it makes. What decides: one trial, or all of them?",
                       state=f"Not yet right: {len(jury) - len(wrong)} of {len(jury)} verdicts")


def verdicts(detector, jury, seq=7, d_model=16, trials=8):
    """-> {name: what the detector says of that layer}, for the pictures."""
    return {name: bool(detector(build(layer_source(out, parts, seq, d_model, i)), seq=seq, d_model=d_model, trials=40 if name == "moody" else trials))
            for i, (name, (truth, out, parts)) in enumerate(jury.items())}


# ---- pictures

def show_two_sums(first, second, names):
    """Two sums over tokens, each (1, d_model), drawn over each other."""
    gap = (first - second).abs().max().item()
    fig, ax = plt.subplots(figsize=(7, 2.9))
    ax.plot(first[0], color=PALETTE[5], lw=5, label=names[0])
    ax.plot(second[0], color="black", lw=1.2, ls="--", marker=".", ms=4, label=names[1])
    ax.set(xlabel="feature of the vector", ylabel="sum over the tokens", title=f"Two orders, one curve: they differ by {gap:.0e} at most")
    ax.set_ylim(top=ax.get_ylim()[1] * 1.35)
    ax.legend(ncols=2, loc="upper left")
    show(fig, f"The sums for “{names[0]}” and “{names[1]}” lie on top of each other in all {first.shape[1]} features; largest difference {gap:.0e}.")


def show_gaps(rows):
    """rows: {name: list of gaps}, one dot a shuffle, on a log axis."""
    fig, ax = plt.subplots(figsize=(7, 0.55 * len(rows) + 1.5))
    ax.axvspan(1e-5, 1e-3, color="#eeeeee")
    ax.text(1e-4, -0.7, "empty", ha="center", va="center", fontsize=9, color="#555555")
    for i, (name, gaps) in enumerate(rows.items()):
        spread = torch.linspace(-0.22, 0.22, len(gaps)).tolist()
        ax.plot([max(g, 1e-17) for g in gaps], [i + s for s in spread], ls="", marker="osD^v"[i % 5], ms=5, color=PALETTE[i % 7], alpha=0.8)
    ax.set(xscale="log", xlim=(1e-17, 100), ylim=(len(rows) - 0.5, -1), xlabel="largest change of the sum (0 is drawn at the left edge)",
           title="Rounding to the left, a real change to the right", yticks=range(len(rows)), yticklabels=list(rows))
    show(fig, "Change of the sum by shuffle, on a log axis: " + "; ".join(f"{n}: {min(g):.0e} to {max(g):.0e}" for n, g in rows.items()) + ".")


def _weight_matrix(ax, m, rows, columns, title="", numbers=True):
    ax.imshow(m, vmin=0, vmax=1, aspect="equal")
    ax.set_xticks(range(m.shape[1]), columns)
    ax.set_yticks(range(m.shape[0]), rows)
    ax.set_title(title, fontsize=10)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if numbers:
                ax.text(j, i, f"{m[i, j]:.2f}", ha="center", va="center", fontsize=9, color="black" if m[i, j] > 0.55 else "white")


def show_carried(words, perm, before, after):
    """Attention weights (seq, seq) before and after a shuffle, and where each word went."""
    new = [words[i] for i in perm]
    fig, (left, middle, right) = plt.subplots(1, 3, figsize=(7.2, 3.3), width_ratios=[3, 2, 3])
    _weight_matrix(left, before, words, words, "weights before")
    _weight_matrix(right, after, new, new, "weights after")
    for place, source in enumerate(perm):
        middle.annotate("", (0.78, -place), (0.22, -source), arrowprops=dict(arrowstyle="->", color=PALETTE[place], lw=2))
    for i in range(len(words)):
        middle.text(0.2, -i, words[i], ha="right", va="center")
        middle.text(0.8, -i, new[i], ha="left", va="center")
    middle.set(xlim=(-0.25, 1.25), ylim=(-len(words) + 0.3, 0.7))
    middle.axis("off")
    left.set_ylabel("who asks")
    for ax in (left, right):
        ax.set_xlabel("who is looked at")
    fig.suptitle("Every weight travels with its two words\n", x=0.02, ha="left", fontsize=11)
    show(fig, f"Attention weights of “{' '.join(words)}” and of “{' '.join(new)}”: the same numbers, rows and columns moved as the words were. "
              f"{words[0]} looks at {words[1]} with {before[0, 1]:.2f} both times.")


def show_weights(weights, words):
    """The weights (seq, seq), with the sum of each row at the side and of each column below."""
    fig, ax = plt.subplots(figsize=(5.4, 3.9))
    _weight_matrix(ax, weights, words, words)
    n = len(words)
    for i in range(n):
        ax.text(n - 0.3, i, f"= {weights[i].sum():.2f}", va="center", fontsize=10, fontweight="bold")
        ax.text(i, n - 0.2, f"{weights[:, i].sum():.2f}", ha="center", fontsize=9, color="#555555")
    ax.text(n - 0.3, n - 0.2, "column sums", fontsize=9, color="#555555")
    ax.set_ylim(n - 0.05, -0.5)
    ax.set_xlim(-0.5, n + 0.75)
    ax.xaxis.tick_top()
    ax.set_ylabel("who asks")
    ax.set_title("Who is looked at: each row is shared out, and sums to 1", pad=12)
    show(fig, "Attention weights, every row sums to 1; the columns sum to " + ", ".join(f"{s:.2f}" for s in weights.sum(0)) + ".")


def _verdict_tile(ax, x, y, text, color, right=None, width=1.0, height=1.0, size=9):
    ax.add_patch(plt.Rectangle((x + 0.04, y + 0.06), width - 0.08, height - 0.12, facecolor=color, edgecolor="black" if right is False else "none", lw=2, hatch="//" if right is False else None))
    ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=size, bbox=dict(boxstyle="round,pad=0.1", fc=color, ec="none") if right is False else None)


def show_tiles(eye, said, jury, gaps):
    """Per layer: your verdict, the detector's, the truth, and the largest change of the sum (gaps may be empty)."""
    size = lambda g: "0" if g == 0 else f"{g:.0e}" if g < 0.01 else f"{g:.1f}"
    words = {True: "stays", False: "changes", "": "no guess"}
    tint = {True: "#9BD4F5", False: "#F6C87A", "": "#eeeeee"}
    fig, ax = plt.subplots(figsize=(7.2, 2.9))
    for c, (name, (truth, *_)) in enumerate(jury.items()):
        seen = {"stays": True, "changes": False}.get(eye.get(name, ""), "")
        for r, verdict in enumerate((seen, said[name], truth)):
            wrong = verdict != "" and verdict != truth
            _verdict_tile(ax, c, r, words[verdict] + (" ✗" if wrong else ""), tint[verdict], False if wrong else None)
        ax.text(c + 0.5, -0.15, name.replace(" ", "\n"), ha="center", va="bottom", fontsize=9)
        if gaps:
            ax.text(c + 0.5, 3.35, size(gaps[name]), ha="center", va="center", fontsize=9)
    for r, label in enumerate(["your eye", "your detector", "the truth"]):
        ax.text(-0.1, r + 0.5, label, ha="right", va="center")
    if gaps:
        ax.text(-0.1, 3.35, "largest change", ha="right", va="center")
    ax.set(xlim=(-1.45, len(jury)), ylim=(3.6, -0.9))
    ax.axis("off")
    ax.set_title("Does the sum over tokens stay?")
    hits = sum({"stays": True, "changes": False}.get(eye.get(n, ""), "") == t[0] for n, t in jury.items())
    show(fig, f"Six layers: your eye was right on {hits}, your detector on {sum(said[n] == t[0] for n, t in jury.items())}. "
              + ("Largest change of the sum: " + ", ".join(f"{n} {size(g)}" for n, g in gaps.items()) + "." if gaps else ""))


PROOF_LINES = {   # shuffled; one of them is false
    "A": "Softmax works inside each row:\nthe weights become P A Pᵀ",
    "B": "q, k, v are made row by row:\nthey become PQ, PK, PV",
    "C": "QKᵀ is symmetric, so swapping\ntokens changes nothing",
    "D": "So the rows of P(AV) add up to\nwhat the rows of AV add up to",
    "E": "P puts the rows of X in another\norder: PX. And PᵀP = I",
    "F": "The output is P A Pᵀ P V\n= P (A V)",
    "G": "The scores become (PQ)(PK)ᵀ\n= P (QKᵀ) Pᵀ",
}
_PROOF_BEGINS = ["175d4f8e", "e050d34b", "09db5bde", "4d065735", "becd4b42", "a0a229f9"]     # short digests of the right beginnings


def proof_so_far(lines):
    """How many lines, from the first on, stand in a right place."""
    import hashlib
    text, n = "".join(lines), 0
    while n < min(len(text), len(_PROOF_BEGINS)) and hashlib.sha256(("02.6" + text[:n + 1]).encode()).hexdigest()[:8] == _PROOF_BEGINS[n]:
        n += 1
    return n


def show_proof(order="ABCDEFG"):
    """The lines of the proof in this order, each with its matrices for three tokens."""
    g = torch.Generator().manual_seed(3)
    P = torch.eye(3)[[1, 2, 0]]
    X, Q, K, V = (torch.rand(3, 2, generator=g) for _ in range(4))
    S = torch.tensor([[0.2, 0.9, 0.4], [0.6, 0.1, 0.3], [0.0, 0.5, 1.0]])
    A = torch.tensor([[0.01, 0.94, 0.05], [0.83, 0.04, 0.13], [0.01, 0.05, 0.94]])
    total = (A @ V).sum(0, keepdim=True) / 2
    mats = {"A": [(A, "A"), (P @ A @ P.T, "P A Pᵀ")], "B": [(Q, "Q"), (P @ Q, "PQ")], "C": [(S, "QKᵀ"), (S.T, "(QKᵀ)ᵀ")],
            "D": [(total, "Σ AV"), (total, "Σ P(AV)")], "E": [(X, "X"), (P @ X, "PX")],
            "F": [(A @ V, "AV"), (P @ A @ V, "P(AV)")], "G": [(S, "QKᵀ"), (P @ S @ P.T, "P QKᵀ Pᵀ")]}
    rows = (len(order) + 1) // 2
    fig = plt.figure(figsize=(7.4, 1.02 * rows + 0.4), layout="none")
    fig.text(0.01, 1 - 0.2 / fig.get_figheight(), "Seven lines for three tokens" if len(order) == 7 else "The proof", va="center", fontsize=11)
    for n, label in enumerate(order):
        column, row = divmod(n, rows)
        x0, y0, h = 0.5 * column, 1 - (0.4 + 1.02 * (row + 1)) / fig.get_figheight(), 1.02 / fig.get_figheight()
        fig.text(x0 + 0.012, y0 + h * 0.5, label, fontsize=13, fontweight="bold", va="center")
        fig.text(x0 + 0.042, y0 + h * 0.5, PROOF_LINES[label], fontsize=8, va="center")
        for m, (matrix, title) in enumerate(mats[label]):
            ax = fig.add_axes([x0 + 0.308 + 0.096 * m, y0 + h * 0.06, 0.078, h * 0.62])
            ax.imshow(matrix, vmin=0, vmax=1)
            ax.set_xticks([])
            ax.set_yticks([])
            ax.set_title(title, fontsize=8, loc="center", pad=2)
    show(fig, "Lines, each with small matrices for three tokens. " + " ".join(f"{label}: {PROOF_LINES[label]}.".replace("\n", " ") for label in order))


def influence(f, seq=5, d_model=64, seed=0):
    """-> (seq, seq): True at [i, j] where output i changes when one number of token j does, for a f of (1, seq, d_model)."""
    x = torch.randn(1, seq, d_model, generator=torch.Generator().manual_seed(seed))
    base, hit = f(x.clone()), torch.zeros(seq, seq, dtype=torch.bool)
    for j in range(seq):
        y = x.clone()
        y[0, j, j] += 1.0
        hit[:, j] = (f(y) - base).abs().amax((0, 2)) > 0
    return hit


def show_gallery(layers, gap):
    """layers: {name: f}. For each: the gap that the starter measures, and which output listens to which token."""
    x, perm = torch.randn(1, 5, 64, generator=torch.Generator().manual_seed(1)), torch.tensor([1, 2, 0, 4, 3])
    fig, axes = plt.subplots(1, len(layers), figsize=(7.4, 2.35))
    texts = []
    for ax, (name, f) in zip(axes, layers.items()):
        with torch.no_grad():
            hit, g = influence(f), gap(f, x, perm)
        ax.imshow(hit, vmin=0, vmax=1)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_title(f"{name}\ngap {g:.0e}" if g else f"{name}\ngap 0", fontsize=8.5, loc="center")
        texts.append(f"{name}: gap {g:.0e}, {int(hit.sum())} of 25 pairs linked")
    axes[0].set_ylabel("output at place", fontsize=9)
    axes[len(layers) // 2].set_xlabel("changed token (bright: this output listens to it)", fontsize=9)
    fig.suptitle("All of them pass the starter; only the first is attention", x=0.02, ha="left", fontsize=11)
    show(fig, "; ".join(texts) + ".")


def heads_by_view(x, n_heads=4):
    """Self-attention whose heads were cut by `view` alone: right shape, mixed tokens. x: (1, seq, d_model)"""
    h = x.view(1, n_heads, x.shape[1], -1)
    return F.scaled_dot_product_attention(h, h, h).reshape(x.shape)


def show_head_origin(yours):
    """yours: (seq, head_dim), for each entry of head 0 the token it came from."""
    seq, head_dim = yours.shape
    n_heads = 4
    tokens = torch.arange(seq).float()[:, None].expand(seq, n_heads * head_dim)
    viewed = tokens.reshape(n_heads, seq, head_dim)[0]
    fig, axes = plt.subplots(1, 2, figsize=(7, 2.7))
    for ax, m, title in zip(axes, (yours, viewed), ("your split_heads", "cut by view alone")):
        _weight_matrix(ax, m / (seq - 1), range(seq), range(head_dim), title, numbers=False)
        for i in range(seq):
            for j in range(head_dim):
                ax.text(j, i, int(m[i, j]), ha="center", va="center", color="white" if m[i, j] < 0.6 * seq else "black")
        ax.set(xlabel="feature of head 0", ylabel="place")
    fig.suptitle("Which token does each number of head 0 come from?", x=0.02, ha="left", fontsize=11)
    show(fig, f"Head 0, {seq} places: in yours place p holds numbers of token p only; with view alone all places hold numbers of the tokens 0 to {int(viewed.max())}.")


def show_scoreboard(said, jury=None):
    """One tile a layer of the harder jury: what the detector says, hatched and crossed where that is wrong."""
    jury, columns = jury or JURY_HARD, 4
    groups = [[n for n in jury if jury[n][0] == truth] for truth in (False, True)]
    heights = [-(-len(g) // columns) for g in groups]
    fig, axes = plt.subplots(2, 1, figsize=(7.4, 0.42 * sum(heights) + 1), height_ratios=heights)
    for ax, names, height, title in zip(axes, groups, heights, ("See the order: the sum changes", "Do not see it: the sum stays")):
        for i, name in enumerate(names):
            ok = said[name] == jury[name][0]
            _verdict_tile(ax, i % columns, i // columns, ("✓ " if ok else "✗ ") + name, "#B8E3D0" if ok else "#F3B8A0", None if ok else False, size=8.5)
        right = sum(said[n] == jury[n][0] for n in names)
        ax.set(xlim=(0, columns), ylim=(height, 0), title=f"{title} · {right} of {len(names)} verdicts right")
        ax.axis("off")
    wrong = [n for n in jury if said[n] != jury[n][0]]
    show(fig, f"{len(jury) - len(wrong)} of {len(jury)} verdicts are right" + (f"; wrong on {', '.join(wrong)}." if wrong else "."))


# What order_changes gives, for other ways to know the order: (sum over tokens, last token while the others are shuffled).
# Measured once with the weights of BlackBox() and each method built in, no mask: a table of std 0.02, untrained; base 10000;
# a penalty on distance to both sides. You will build all four in 03 and 04.
METHOD_CHANGES = {"learned": (0.043, 0.013), "sinusoidal": (0.54, 0.092), "RoPE": (0.53, 0.14), "ALiBi": (0.098, 0.055)}


def order_changes(n_layers=1, causal=False, seq=7, trials=20):
    """For BlackBox layers without positions, two medians over shuffles, in units of the output's length: how far the
    sum over tokens moves, and how far the last token's output moves while only the tokens before it are shuffled."""
    box, g, sums, lasts = BlackBox(n_layers=n_layers, causal=causal), torch.Generator().manual_seed(0), [], []
    for _ in range(trials):
        x = torch.randn(1, seq, 64, generator=g)
        order, front = torch.randperm(seq, generator=g), torch.randperm(seq - 1, generator=g).tolist()
        out = box(x)
        sums.append(torch.dist(box(x[:, order]).sum(1), out.sum(1)) / out.norm())
        lasts.append(torch.dist(box(x[:, front + [seq - 1]])[:, -1], out[:, -1]) / out.norm())
    return torch.stack(sums).median().item(), torch.stack(lasts).median().item()


def show_order_changes(rows):
    """rows: {name: (change of the sum, change of the last token)}; METHOD_CHANGES is added below them."""
    fig, ax = plt.subplots(figsize=(7.2, 3.9))
    names = [*rows, *METHOD_CHANGES]
    ax.axvspan(1e-5, 1e-3, color="#eeeeee")
    for i, (whole, last) in enumerate([*rows.values(), *METHOD_CHANGES.values()]):
        ax.plot([whole, last], [i, i], color="#bbbbbb", lw=1, zorder=1)
        ax.plot(max(whole, 1e-9), i - 0.09, marker="s", ms=8, ls="", color=PALETTE[0], label="sum over tokens, all shuffled" if i == 0 else None)
        ax.plot(max(last, 1e-9), i + 0.09, marker="o", ms=8, ls="", mfc="white", mew=2, color=PALETTE[1], label="last token, those before it shuffled" if i == 0 else None)
    ax.axhline(len(rows) - 0.5, color="#bbbbbb", lw=0.8)
    ax.text(1.2e-9, len(rows) - 0.32, "stored figures, no mask:", fontsize=8.5, color="#555555", va="center")
    ax.set(xscale="log", xlim=(1e-9, 30), yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.4, -0.6),
           xlabel="distance moved, relative to the length of the output (median of 20 shuffles)", title="A mask lets order in; one masked layer hides it from the last token")
    for label in ax.get_yticklabels():
        label.set_color(METHODS.get(label.get_text(), {}).get("color", "black"))
    ax.legend(loc="upper center", bbox_to_anchor=(0.42, -0.17), ncols=2)
    show(fig, "; ".join(f"{n}: sum {a:.0e}, last token {b:.0e}" for n, (a, b) in [*rows.items(), *METHOD_CHANGES.items()]) + ".")
# ======== for 03, 04, 06: a tiny transformer and where a position method acts ========
import copy


@dataclass
class Config:
    """Everything that shapes one training run, in one place (sizes measured in the course's own bench)."""
    vocab_size: int = 8
    d_model: int = 32           # width of a token's vector
    n_heads: int = 4            # head_dim = d_model // n_heads = 8
    n_layers: int = 2
    causal: bool = True         # may a token look at later ones? True: no
    steps: int = 200
    batch: int = 32             # for the function that draws the batches
    lr: float = 8e-3            # peak learning rate
    seed: int = 0


class Position(nn.Module):
    """No position at all. A method overrides one hook: embed, rotate or bias."""

    def embed(self, x):
        """x: (batch, seq, d_model) token vectors -> the same shape. Learned and sinusoidal tables add here."""
        return x

    def rotate(self, q, k):
        """q, k: (batch, heads, seq, head_dim) -> the same shapes. RoPE turns here."""
        return q, k

    def bias(self, seq):
        """-> (heads, seq, seq) added to the attention scores, or None. ALiBi penalises here."""
        return None


class Block(nn.Module):
    """One transformer layer: attention, then a small network for each token, both added to the stream."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, d_model // n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x, position, mask, causal):
        batch, seq, d_model = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, seq, 3, self.n_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k = position.rotate(q, k)                                        # (batch, heads, seq, head_dim)
        mixed = F.scaled_dot_product_attention(                             # (batch, heads, seq, head_dim)
            q, k, v, attn_mask=mask, is_causal=causal and mask is None)     # without a mask to add torch skips what comes later: faster
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, seq, d_model))
        return x + self.mlp(self.norm2(x))


def expect_ids(ids, vocab_size):
    """Raise an error that says what a model takes and what came, where these are no ids (batch, seq) of a vocabulary."""
    if ids.ndim != 2 or ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"expected ids of shape (batch, seq), whole numbers (torch.int64); got shape {tuple(ids.shape)}, {ids.dtype}")
    if ids.numel() and (ids.min() < 0 or ids.max() >= vocab_size):
        raise IndexError(f"expected ids from 0 to {vocab_size - 1}; got {int(ids.min())} to {int(ids.max())}")


class TinyTransformer(nn.Module):
    """A transformer of the GPT kind, small enough to train in two seconds.

    ids (batch, seq) of integers -> logits (batch, seq, vocab_size). The output head is the token table
    itself (tied). `position` is any `Position`; without one the model has no notion of order but
    what a causal mask lets through.
    """

    def __init__(self, vocab_size, d_model=32, n_heads=4, n_layers=2, position=None, causal=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"expected a d_model that its heads divide; got d_model={d_model} and {n_heads} heads")
        if d_model // n_heads % 2 and position is not None and type(position).rotate is not Position.rotate:
            raise ValueError(f"expected an even head_dim, since a rotation turns pairs of features; got {d_model} // {n_heads} = {d_model // n_heads}")
        self.n_heads, self.causal = n_heads, causal
        self.tokens = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.tokens.weight, std=0.02)  # a tied head wants small rows: the first loss is then ln(vocab_size)
        self.position = Position() if position is None else position
        self.blocks = nn.ModuleList(Block(d_model, n_heads) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model)

    def mask(self, seq):
        """What is added to the scores before the softmax: (heads or 1, seq, seq). None for nothing but the causal rule, if that."""
        mask = self.position.bias(seq)
        if self.causal and mask is not None:
            later = torch.ones(seq, seq, dtype=torch.bool).triu(1)      # True where the key comes after the query
            mask = mask.masked_fill(later, float("-inf"))
        return mask

    def stream(self, ids):
        """The vectors as they grow: a list of n_layers + 1 tensors (batch, seq, d_model), the table's rows first."""
        expect_ids(ids, len(self.tokens.weight))
        x = self.position.embed(self.tokens(ids))     # (batch, seq, d_model)
        mask, states = self.mask(ids.shape[1]), [x]
        for block in self.blocks:
            states.append(block(states[-1], self.position, mask, self.causal))
        return states

    def forward(self, ids):
        return self.norm(self.stream(ids)[-1]) @ self.tokens.weight.T   # (batch, seq, vocab_size)


@interruptible
def train(batches, config, position=None, label="training", watch=None):
    """Train a fresh TinyTransformer and give it back in eval mode.

    batches   a function of a torch.Generator that draws one training batch -> (ids, targets), both
              (batch, seq); a target of -1 means that nothing is asked at that place
    position  a Position, a class of them that needs no arguments, or None. The model gets a copy of its
              own, so two runs never share a table
    watch     a fixed (ids, targets) whose loss is noted every ten steps, without learning from it

    The seed decides everything: the first weights, the position tables (drawn again here like the token
    table, whatever they held before) and the order of the data. So the same call gives the same model.
    The model remembers: `history` (the loss of each step), `watched` (pairs of step and loss), `config`.
    """
    torch.manual_seed(config.seed)
    draw = torch.Generator().manual_seed(config.seed)
    model = TinyTransformer(config.vocab_size, config.d_model, config.n_heads, config.n_layers,
                            position() if isinstance(position, type) else copy.deepcopy(position), config.causal)
    for p in model.position.parameters():
        if p.ndim > 1 and p.requires_grad:      # a table; a lone number, such as a learned scale, stays as it is
            nn.init.normal_(p, std=0.02)
    model.watched, model.config = [], config
    for step in descent(model, batches, draw, config.steps, config.lr, label):
        if watch is not None and step % 10 == 0:
            with torch.no_grad():
                model.watched.append((step, loss_of(model, *watch).item()))
    return model.eval()


def descent(model, batches, draw, steps, lr, label):
    """Train a model in place, under a bar, and note the loss of each step in model.history. Gives the number of each step before it is taken."""
    optimizer = torch.optim.AdamW(model.parameters(), lr, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps, pct_start=0.1)
    model.history, bar = [], progress(steps, label)
    for step in bar:
        yield step
        loss = loss_of(model, *batches(draw))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        model.history.append(loss.item())
        if step % 20 == 0 or step == steps - 1:
            bar.set_postfix_str(f"loss {loss.item():.3f}", refresh=False)


def loss_of(model, ids, targets):
    """Mean loss in nats over the places that are asked: ids, targets (batch, seq), -1 where nothing is."""
    logits = model(ids)                                                 # (batch, seq, vocab_size)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten().long(), ignore_index=-1)


def rebuild(weights, n_heads, position=None, causal=True):
    """A TinyTransformer with the given weights (a state_dict); widths and depth are read off them.

    Position tables among the weights are left out: `position` brings its own.
    """
    vocab_size, d_model = weights["tokens.weight"].shape
    n_layers = len({name.split(".")[1] for name in weights if name.startswith("blocks.")})
    model = TinyTransformer(vocab_size, d_model, n_heads, n_layers, position, causal)
    own = {name: p for name, p in model.state_dict().items() if name.startswith("position.")}
    model.load_state_dict({**own, **{name: w for name, w in weights.items() if not name.startswith("position.")}})
    return model.eval()
# ======== for 03: who bites whom ========
NAMES = ["Ann", "Bob", "Cem", "Dora", "Eli", "Fay", "Gus", "Hana", "Ida", "Jon"]     # ids 0 to 9, in the order of the alphabet
BITE_QUESTIONS = ["biter?", "bitten?", "first?", "last?"]    # the last two ask for the alphabet: which of the two names comes first, which last
BITE_WORDS = [*NAMES, "bites", *BITE_QUESTIONS]                   # id -> word, 15 of them
ORDER, ALPHABET = (0, 1), (2, 3)                        # the questions that need order, and those that do not


def words_to_ids(text):
    """"Ann bites Bob biter?" -> (1, 4) ids."""
    return torch.tensor([[BITE_WORDS.index(word) for word in text.split()]])


def sentences(n, generator, questions=(0, 1, 2, 3)):
    """Draw n sentences of two different names and one of the questions -> ids (n, 4), the right name (n,)."""
    a = torch.randint(len(NAMES), (n,), generator=generator)
    b = (a + 1 + torch.randint(len(NAMES) - 1, (n,), generator=generator)) % len(NAMES)
    q = torch.tensor(questions)[torch.randint(len(questions), (n,), generator=generator)]
    ids = torch.stack([a, torch.full_like(a, BITE_WORDS.index("bites")), b, BITE_WORDS.index("biter?") + q], dim=1)
    answers = torch.stack([a, b, torch.minimum(a, b), torch.maximum(a, b)], dim=1)      # (n, 4): one for each question
    return ids, answers.gather(1, q[:, None])[:, 0]


def at_last_place(ids, target):
    """-> ids, targets (n, seq): the answer is asked at the last place, and nothing at the others (-1)."""
    targets = torch.full_like(ids, -1)
    targets[:, -1] = target
    return ids, targets


def sentence_batches(n):
    """-> a function of a generator that draws n sentences with all four questions, for `train`."""
    return lambda generator: at_last_place(*sentences(n, generator))


def first_token_batches(n, vocab_size=8, seq=16):
    """-> a function of a generator that draws n lists of `seq` tokens with a question (id vocab_size) at the end; asked is the first token."""
    def draw(generator):
        tokens = torch.randint(vocab_size, (n, seq), generator=generator)
        question = torch.full((n, 1), vocab_size)
        return at_last_place(torch.cat([tokens, question], dim=1), tokens[:, 0])
    return draw


WITH, WITHOUT = METHODS["learned"], METHODS["none"]


def _tiles(ax, words, y, color, x0=0.0):
    for i, word in enumerate(words):
        ax.text(x0 + i, y, word, ha="center", va="center", fontsize=10,
                bbox=dict(boxstyle="round,pad=0.4", facecolor="white", edgecolor=color, linewidth=1.6))


def show_bags():
    """Two sentences that say opposite things, and what is left of each once the order is gone."""
    pair = ["Ann bites Bob biter?", "Bob bites Ann biter?"]
    fig, ax = plt.subplots(figsize=(7, 2.2))
    for y, text, answer in [(1, pair[0], "Ann"), (0, pair[1], "Bob")]:
        words = text.split()
        _tiles(ax, words, y, PALETTE[0])
        ax.annotate("", (4.45, y), (3.55, y), arrowprops=dict(arrowstyle="->", color="#555555"))
        _tiles(ax, sorted(words[:3], key=str.lower) + words[3:], y, PALETTE[6], x0=5.0)
        ax.text(8.9, y, f"right answer: {answer}", va="center", fontsize=10)
    ax.text(0 - 0.4, 1.62, "the sentence", fontsize=10, color=PALETTE[0])
    ax.text(5 - 0.4, 1.62, "the same words without their order", fontsize=10, color=PALETTE[6])
    ax.set(xlim=(-0.6, 11.2), ylim=(-0.5, 1.9), title="Without order two different questions become one")
    ax.axis("off")
    show(fig, "Ann bites Bob, biter? has the answer Ann; Bob bites Ann, biter? has the answer Bob. Without order both are the same four words.")


def show_minus_log(candidates=2):
    """The price of an answer as a curve, with the best that is possible when `candidates` names are equally likely."""
    p = torch.linspace(0.02, 1, 200)
    fig, ax = plt.subplots(figsize=(6.4, 3.2))
    ax.plot(p, -p.log(), color=PALETTE[0], linewidth=2)
    for n, text in [(len(NAMES), "ten names, no idea which"), (candidates, "two names, no order"), (1, "no doubt")]:
        price = math.log(n)
        ax.plot(1 / n, price, "o" if n == candidates else "s", color=PALETTE[1] if n == candidates else PALETTE[6], markersize=8, clip_on=False)
        ax.annotate(f"{text}: {price:.3f} nats", (1 / n, price), (1 / n + 0.03, price + 0.22), fontsize=10)
    ax.set(xlabel="probability given to the right answer", ylabel="price, −ln p (nats)", xlim=(0, 1.25), ylim=(0, 4), title="What a right answer costs")
    ax.set_xticks([0, 0.1, 0.25, 0.5, 0.75, 1])
    show(fig, "The price −ln p falls from 3.9 nats at p = 0.02 to 0 at p = 1. At p = 1/10 it is 2.303, at p = 1/2 it is 0.693.")


def show_adding(x, out, words):
    """Token rows, position rows and their sum as three heat maps; x, out: (1, seq, d_model)."""
    parts = [(x[0], "token rows"), ((out - x)[0], "position rows"), (out[0], "input of layer 1")]
    top = max(float(t.abs().max()) for t, _ in parts)
    fig, axes = plt.subplots(1, 3, figsize=(7.6, 2.5), sharex=True)
    for i, (ax, (rows, title)) in enumerate(zip(axes, parts)):
        image = ax.imshow(rows.detach(), vmin=-top, vmax=top, aspect="auto")
        ax.set(title=("", "+  ", "=  ")[i] + title, xlabel="feature")
        ax.set_yticks(range(len(words)), words if i != 1 else [f"place {p}" for p in range(len(words))])
    fig.colorbar(image, ax=axes, shrink=0.9, label="value")
    show(fig, f"Three heat maps of {len(words)} rows: the token rows plus one row for each place give the input of the first layer.")


def show_training(models, floor, longer=0.704):
    """The loss on order questions while the two models learn, with the floor as a line."""
    fig, ax = plt.subplots(figsize=(6.8, 3.4))
    watched = {name: getattr(model, "watched", []) for name, model in models.items()}   # empty for a model of another training loop
    for name, style in (("without", WITHOUT), ("with", WITH)):
        if watched[name]:
            ax.plot(*zip(*watched[name]), color=style["color"], marker=style["marker"], markersize=4, markevery=4, label=f"{name} positions")
    end = max([step for curve in watched.values() for step, loss in curve] + [10])
    first = watched["without"][0][1] if watched["without"] else math.log(len(BITE_WORDS))
    ax.axhline(floor, color="black", linewidth=1, linestyle="--")
    ax.text(end, floor - 0.05, f"floor without order, {floor:.3f}", va="top", ha="right", fontsize=9)
    ax.annotate(f"first loss {first:.2f}, ln {len(BITE_WORDS)} = {math.log(len(BITE_WORDS)):.2f}", (0, first), (0.08 * end, first - 0.06), fontsize=9, va="center",
                arrowprops=dict(arrowstyle="-", color="#999999"))
    ax.annotate(f"after ten times the steps (measured before): {longer:.3f}", (end, longer), (end, 1.45), ha="right", fontsize=9,
                color=WITHOUT["color"], arrowprops=dict(arrowstyle="->", color=WITHOUT["color"]))
    ax.set(xlabel="training step", ylabel="loss on order questions (nats)", ylim=(-0.05, 3), title="One argument differs")
    if any(watched.values()):
        ax.legend(loc="upper right")
    last = {name: curve[-1][1] for name, curve in watched.items() if curve}
    show(fig, f"Loss on order questions against training step: {', '.join(f'{n} positions it ends at {v:.3f}' for n, v in last.items())}. The floor is {floor:.3f}.")


def show_gap(measured, floor):
    """Two bars, the floor, and the gap as a bracket."""
    names, values = ["without", "with"], [measured["without"], measured["with"]]
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    bars = ax.bar([0, 1], values, width=0.5, color=[WITHOUT["color"], WITH["color"]], hatch=["", "//"], edgecolor="white")
    ax.bar_label(bars, [f"{v:.3f}" if v > 0.001 else f"{v:.4f}" for v in values], padding=3)
    ax.axhline(floor, color="black", linewidth=1, linestyle="--")
    ax.text(2.45, floor - 0.015, f"ln 2 = {floor:.3f}\none fair coin, one bit", va="top", ha="right", fontsize=9)
    top, low = max(values), min(values)
    ax.annotate("", (0.62, top), (0.62, low), arrowprops=dict(arrowstyle="<->", color=PALETTE[0], linewidth=1.6))
    ax.text(0.58, (top + low) / 2, f"gap\n{measured['gap']:.3f}", va="center", ha="right", fontsize=10, color=PALETTE[0],
            bbox=dict(boxstyle="round,pad=0.25", facecolor="white", edgecolor=PALETTE[0]))
    ax.set_xticks([0, 1], [f"{n} positions" for n in names])
    ax.set(ylabel="loss on order questions (nats)", xlim=(-0.4, 2.5), ylim=(0, max(0.95, 1.15 * top)), title="What the positions are worth")
    show(fig, f"Loss on order questions: {values[0]:.3f} without positions, {values[1]:.4f} with. The gap is {measured['gap']:.3f}; ln 2 is {floor:.3f}.")


def show_gamble(model, n=8192):
    """How the model without positions spreads its bet: on the two names of the sentence and on all other words."""
    ids, target = sentences(n, torch.Generator().manual_seed(3), ORDER)
    with torch.no_grad():
        p = model(ids)[:, -1].softmax(-1)                                           # (n, 15)
    two = torch.cat([p.gather(1, ids[:, :1]), p.gather(1, ids[:, 2:3])], dim=1)     # (n, 2): the two names
    likes, other = two.max(1).values.mean().item(), two.min(1).values.mean().item()
    parts = {"the name it\nlikes better": likes, "the other\nname": other, "all other\nwords": 1 - likes - other}
    fig, ax = plt.subplots(figsize=(6.4, 2.6))
    bars = ax.bar(range(3), list(parts.values()), width=0.55, color=[WITHOUT["color"]] * 2 + [PALETTE[4]], hatch=["", "", ".."], edgecolor="white")
    ax.bar_label(bars, [f"{v:.2f}" for v in parts.values()], padding=2)
    ax.axhline(0.5, color="black", linestyle="--", linewidth=1)
    ax.text(2.62, 0.51, "a fair coin", ha="right", va="bottom", fontsize=9)
    ax.set_xticks(range(3), list(parts))
    ax.set(ylabel="probability, average", ylim=(0, 0.75), xlim=(-0.5, 2.65), title="Why a little above ln 2: it leans, and it spills")
    show(fig, f"The model without positions gives {likes:.2f} to the name that it likes better, {other:.2f} to the other and {1 - likes - other:.2f} to words that are not asked for.")


def accuracy_by_question(model, n=2000):
    """-> {question: share of right answers} on n fresh sentences each."""
    result = {}
    for q, question in enumerate(BITE_QUESTIONS):
        ids, target = sentences(n, torch.Generator().manual_seed(20 + q), (q,))
        with torch.no_grad():
            result[question] = (model(ids)[:, -1].argmax(-1) == target).float().mean().item()
    return result


def show_questions(models):
    """Share of right answers for each question, without and with positions."""
    fig, ax = plt.subplots(figsize=(7, 3.3))
    scores = {}
    for k, (name, style) in enumerate((("without", WITHOUT), ("with", WITH))):
        scores[name] = accuracy_by_question(models[name])
        at = [q + 0.19 * (2 * k - 1) for q in range(4)]
        bars = ax.bar(at, [100 * v for v in scores[name].values()], width=0.36, color=style["color"], hatch=("", "//")[k], edgecolor="white", label=f"{name} positions")
        ax.bar_label(bars, [f"{100 * v:.0f}" for v in scores[name].values()], padding=2, fontsize=9)
    ax.axhline(50, color="black", linewidth=1, linestyle="--")
    ax.text(3.55, 51, "a coin: 50 %", va="bottom", fontsize=9)
    ax.set_xticks(range(4), ["who bites?\n(order)", "who is bitten?\n(order)", "first in the\nalphabet?", "last in the\nalphabet?"])
    ax.set(ylabel="right answers (%)", ylim=(0, 135), yticks=[0, 25, 50, 75, 100], xlim=(-0.5, 4.35), title="Same sentences, four questions")
    ax.legend(loc="upper right", ncols=2)
    without = ", ".join(f"{100 * v:.0f} %" for v in scores["without"].values())
    show(fig, f"Right answers to biter, bitten, first, last: without positions {without}; with positions {', '.join(f'{100 * v:.0f} %' for v in scores['with'].values())}.")


def show_shift(shifts):
    """How far a word's vectors from two sentences lie apart, layer by layer; shifts: {label: (style, [after 0, 1, 2 layers])}."""
    fig, ax = plt.subplots(figsize=(7, 3.5))
    for label, (style, values) in shifts.items():
        seen = [max(v, 1e-8) for v in values]
        ax.plot(range(len(seen)), seen, linewidth=2, markersize=8, label=label, **style)
    ax.axhspan(1e-9, 1e-5, color="#56B4E9", alpha=0.15)
    ax.text(1.5, 3e-8, "nothing but rounding", fontsize=9, ha="center")
    ax.set(yscale="log", ylim=(3e-9, 2e5), ylabel="largest difference", title="Ann in “Ann bites Bob” against Ann in …")
    ax.set_xticks(range(3), ["input of\nlayer 1", "after\nlayer 1", "after\nlayer 2"])
    ax.legend(loc="upper left", fontsize=9)
    ends = "; ".join(f"{label}: {values[-1]:.1g}" for label, (style, values) in shifts.items())
    show(fig, f"Largest difference between the two vectors of Ann after layer 2. {ends}.")


def show_depth(runs, floor, guessing):
    """Loss at the end against a floor; runs: {label: loss}."""
    fig, ax = plt.subplots(figsize=(6.6, 0.9 + 0.5 * len(runs) + 0.4))
    bars = ax.barh(range(len(runs)), list(runs.values()), height=0.55, color=PALETTE[0], edgecolor="white")
    for bar, v in zip(bars, runs.values()):
        inside = v > 0.4
        ax.text(min(v, floor) - 0.05 if inside else v + 0.03, bar.get_y() + bar.get_height() / 2, f"{v:.3f}", va="center", ha="right" if inside else "left", color="white" if inside else "black")
    ax.set_yticks(range(len(runs)), list(runs))
    for value, text, style, side in ((floor, f"floor without order {floor:.3f} ", "--", "right"), (guessing, f" blind guess {guessing:.3f}", ":", "left")):
        ax.axvline(value, color="black", linewidth=1, linestyle=style)
        ax.text(value, -0.62, text, ha=side, va="center", fontsize=9)
    ax.set(xlabel="loss (nats)", xlim=(0, 2.9), ylim=(len(runs) - 0.5, -0.9), title="Which token came first?")
    show(fig, f"Loss on the question for the first token: {', '.join(f'{k} {v:.3f}' for k, v in runs.items())}; the floor without order is {floor:.3f}.")


def show_published_nopos():
    """Perplexity without and with learned positions as published, for a causal and for a bidirectional model."""
    fig, axes = plt.subplots(1, 2, figsize=(7, 2.8))
    for ax, title, without, learned in zip(axes, ("next word, causal mask", "hidden word, no mask"), (20.97, 147.18), (20.42, 4.06)):
        bars = ax.bar([0, 1], [without, learned], width=0.55, color=[WITHOUT["color"], WITH["color"]], hatch=["", "//"], edgecolor="white")
        ax.bar_label(bars, [f"{without}", f"{learned}"], padding=2)
        ax.set_xticks([0, 1], ["without", "learned"])
        ax.set(title=title, ylim=(0, 1.2 * without), ylabel="perplexity")
    show(fig, "Published perplexities (Haviv et al. 2022): causal model 20.97 without and 20.42 with learned positions; bidirectional model 147.18 and 4.06.")


def show_plain_number(rows):
    """Token rows with the plain number of the place added; rows: (seq, d_model)."""
    seq = len(rows)
    fig, axes = plt.subplots(1, 2, figsize=(7, 2.8))
    for ax, values, title in zip(axes, (rows, rows + torch.arange(seq)[:, None]), ("token rows", "token rows + p")):
        image = ax.imshow(values.detach(), aspect="auto")
        ax.set(title=title, xlabel="feature", ylabel="place p", yticks=range(0, seq, 5))
        fig.colorbar(image, ax=ax, label="value")
    show(fig, f"Left: {seq} token rows, all different. Right: after adding p every row is one flat colour; the words have drowned.")


def show_waves(table):
    """The table of waves as a heat map, and three of its columns; table: (seq, d_model)."""
    seq, width = table.shape
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.2))
    image = left.imshow(table, aspect="auto", vmin=-1, vmax=1)
    left.set(title="one row for each place", xlabel="feature", ylabel="place p")
    fig.colorbar(image, ax=left, shrink=0.9)
    for i, (column, marker) in enumerate(((0, "o"), (width // 4, "s"), (width // 2, "D"))):
        right.plot(table[:, column], color=PALETTE[i], marker=marker, markevery=max(1, seq // 8), markersize=5, label=f"feature {column}")
    right.set(title="three columns: fast, slower, slow", xlabel="place p", ylabel="value", ylim=(-1.1, 1.75))
    right.legend(loc="upper center", ncols=3, fontsize=8, handlelength=1.2, columnspacing=0.9)
    show(fig, f"Waves for {seq} places and {width} features: the first features swing quickly, the last hardly move over the whole text.")


def show_shift_matrix(matrix, k):
    """The matrix that moves every row k places on, as a heat map; matrix: (d_model, d_model)."""
    fig, ax = plt.subplots(figsize=(4.8, 3.9))
    image = ax.imshow(matrix, vmin=-1, vmax=1, cmap="PuOr")
    for i in range(0, len(matrix), 2):
        ax.add_patch(plt.Rectangle((i - 0.5, i - 0.5), 2, 2, fill=False, edgecolor="black", linewidth=1))
    ax.set(title=f"Move {k} places on: 2 × 2 blocks, each a rotation", xlabel="from feature", ylabel="to feature")
    ax.set_xticks(range(0, len(matrix), 2))
    ax.set_yticks(range(0, len(matrix), 2))
    fig.colorbar(image, ax=ax, label="value", shrink=0.9)
    show(fig, f"A matrix of {len(matrix)} by {len(matrix)} numbers that is zero outside its 2 by 2 diagonal blocks; each block is a rotation.")
# ======== for 04, 06: the classes that 03 asked for ========
class LearnedPosition(Position):
    """A second lookup table: row t is added to the token vector at place t."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))     # rows as small as the token rows

    def embed(self, x):
        seq = x.shape[1]
        if seq > len(self.table):
            raise IndexError(f"expected at most {len(self.table)} tokens, one for each row of the table; got {seq}")
        return x + self.table[:seq]                                         # (batch, seq, d_model)


# ======== for 06: the waves, as a class (03 asks for their table, 04 for their speeds) ========
class SinusoidalPosition(Position):
    """Fixed waves, one frequency for each pair of features, for any length; nothing here is learned."""

    def __init__(self, base=10000.0, scale=0.125):
        super().__init__()
        self.base, self.scale = base, scale     # waves of height 1 would drown token rows that start at 0.02

    def embed(self, x):
        seq, d_model = x.shape[1:]
        if d_model % 2:
            raise ValueError(f"expected an even d_model, since each wave is a sine and a cosine; got {d_model}")
        theta = self.base ** (-torch.arange(0, d_model, 2) / d_model)       # (d_model / 2,) radians a place
        angle = torch.outer(torch.arange(seq), theta)                       # (seq, d_model / 2)
        return x + self.scale * torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


# ======== for 04, 06: the k-back language and its ruler ========
VOCAB, BACK, NOISE, TRAINED = 8, 3, 0.1, 24     # kinds of token, steps back, share of tokens thrown at random, trained length
CONTEXTS = (24, 30, 36, 48, 96)                 # 1, 1.25, 1.5, 2 and 4 times the trained length


def k_back(n, length, generator):
    """Draw n sequences -> ids (n, length): the token three places back plus one (mod 8), or, one time in ten, any token."""
    x = torch.randint(VOCAB, (n, length), generator=generator)
    kept = torch.rand(n, length, generator=generator) > NOISE
    for t in range(BACK, length):
        x[:, t] = torch.where(kept[:, t], (x[:, t - BACK] + 1) % VOCAB, x[:, t])
    return x


def batches(length=TRAINED, batch=32, pool=4000):
    """-> a function of a generator that draws one training batch, for `train`. Make a new one for each run: it keeps its own pool."""
    kept = []

    def draw(generator):
        if not kept:
            kept.append(k_back(pool, length + 1, generator))
        x = kept[0][torch.randint(pool, (batch,), generator=generator)]     # (batch, length + 1)
        targets = x[:, 1:].clone()                                          # the next token
        targets[:, :BACK] = -1                                              # too early to know
        return x[:, :-1], targets
    return draw


ASKED = torch.arange(-16, 0)    # the places that the ruler looks at: the last 16 of the text, whatever stands before them
_texts = {}


def test_text(length=8 * TRAINED + 1):
    """The 512 sequences that every curve in the notebook is measured on -> ids (512, length), the same at each call."""
    if length not in _texts:
        _texts[length] = k_back(512, length, torch.Generator().manual_seed(99))
    return _texts[length]


def loss_at(model, contexts=CONTEXTS, text=None):
    """Mean loss in nats on the SAME last 16 targets of 512 sequences, as the context before them grows -> {context: loss}.

    The model sees the last `context` tokens; a longer context adds older ones. `model` may be any function of ids.
    """
    text = test_text() if text is None else text
    losses = {}
    with torch.no_grad():
        for context in contexts:
            total = 0.0
            for part in text.split(64):
                surprise = -model(part[:, -context - 1:-1])[:, ASKED].log_softmax(-1)   # (64, 16, vocab)
                total += surprise.gather(-1, part[:, ASKED, None]).sum().item()
            losses[context] = total / (len(text) * len(ASKED))
    return losses


def bayes_loss(text=None):
    """The loss of the best possible guesser on those same targets: it knows the rule and the odds, not the dice."""
    text = test_text() if text is None else text
    by_rule = text[:, ASKED] == (text[:, ASKED - BACK] + 1) % VOCAB
    hit, miss = 1 - NOISE + NOISE / VOCAB, NOISE / VOCAB
    return torch.where(by_rule, -math.log(hit), -math.log(miss)).mean().item()


def with_position(model, position):
    """A copy of a trained model with another position method in place of its own; no weight is trained again."""
    import copy
    changed = copy.deepcopy(model)
    changed.position = position
    return changed.eval()


def answer_distance(model, context=TRAINED, most=11):
    """From how many places before the query does the answer come? -> {distance: share of the model's answers that are that token plus one}."""
    text = test_text()
    with torch.no_grad():
        answers = model(text[:, -context - 1:-1])[:, ASKED].argmax(-1)          # (512, 16)
    return {d: (answers == (text[:, ASKED - 1 - d] + 1) % VOCAB).double().mean().item() for d in range(most)}
# ======== for 04, 06: six lamps, and three functions with a fault ========
LAMPS = ("norm", "relative", "identity", "moves", "spectrum", "layout")
_TRACES = {1: 14.97033, 2: 12.73655, 5: 12.27408, 17: 10.10957, 40: 7.77865}   # at head_dim 16: position -> sum of the diagonal of the turn


def lamps(turn):
    """Six properties of a function x (1, 1, seq, 16) -> the same shape, row m turned to position m. -> {lamp: lit or not}

    norm: no row changes its length          relative: a score depends on the offset of its two positions alone
    identity: row 0 stays as it is           moves: every later row changes
    spectrum: the pairs turn at the lesson's speeds, whatever the layout
    layout: a row that is zero after its first two numbers stays so, and turns counter-clockwise
    """
    generator = torch.Generator().manual_seed(4)
    seq, dim = 48, 16
    x, q, k = (torch.randn(1, 1, 1, dim, generator=generator) for _ in range(3))
    def everywhere(row):
        return turn(row.expand(1, 1, seq, dim).clone())[0, 0].double()          # (seq, dim): one row at every position
    with torch.no_grad():
        rows, scores = everywhere(x), everywhere(q) @ everywhere(k).T           # (seq, seq)
        turns = torch.stack([everywhere(unit.view(1, 1, 1, dim)) for unit in torch.eye(dim)], dim=-1)    # (seq, dim, dim)
        first = everywhere(torch.eye(dim)[0].view(1, 1, 1, dim))
    diagonals = [scores.diagonal(offset) for offset in range(-seq + 2, seq - 1)]
    traces = turns.diagonal(dim1=1, dim2=2).sum(-1)
    return {
        "norm": bool((rows.norm(dim=-1) - x.norm().double()).abs().max() < 1e-3),
        "relative": bool(max((d - d[0]).abs().max() for d in diagonals) < 1e-3),
        "identity": bool((rows[0] - x[0, 0, 0].double()).abs().max() < 1e-3),
        "moves": bool(((rows[1:] - x[0, 0].double()).abs().amax(-1) > 1e-3).all()),
        "spectrum": all(abs(traces[m].item() - value) < 1e-2 for m, value in _TRACES.items()),
        "layout": bool(first[:, 2:].abs().max() < 1e-3 and first[1, 1] > 0.1),
    }


_PACKED = """
c-rMs!Ait15WV*+=GH{h?6!gng*|K+Z|V<}BC$=~;x;Ks#ESUuPSdWs?4^Q&U@pnLyf-tMm!|Esap1HmcR_Z&xw(QhyuJlNC2QD_o~8ldY7zAu
E{sqQlJwl}L?`noDHv4lrIYKP`<><~gIld+;g!hVOH{XT20d5u`OZmYwIO-TfM3LyNwQk4@Hm9aFY(d?N5}+yU<DmZFu2DGea<;&uuRjTrzwhu
$g}FkScf!$jrgW`sV$*!j^YDi8%4&PR+d^-M|6LAME40i-AMOj)HEXNMEOXFFUY1$ltC0zUhjp&_me20<FxZ|6Bbw|oZVhHdXxPJZ=xUfrWEef
nW|~m=+42BY;<I{ZgOP%D~{lm{nW<=EEbUb&DnnM-*3k$&wX(iyaT{LNzw
"""


def _unpacked():
    """Three functions and the line that is to blame in each: packed, so that nobody reads the answer by accident."""
    import base64
    import zlib
    space = {}
    exec(zlib.decompress(base64.b85decode(_PACKED.replace("\n", ""))), space)
    return space


def faulty(letter):
    """One of the three faulty functions, "A", "B" or "C": x (batch, heads, seq, 16) -> the same shape."""
    return _unpacked()[letter]


def open_the_faults():
    """Print the line that is to blame in A, B and C."""
    for letter, line in _unpacked()["BLAME"].items():
        print(f"{letter}:   {line}")
# ======== for 04, 06: pictures of turning and of reach ========
def show_language(length=14):
    """One text of the k-back language: arcs from the token three places back, random tokens marked."""
    x = k_back(1, length, torch.Generator().manual_seed(5))[0].tolist()
    fig, ax = plt.subplots(figsize=(7, 1.6))
    for t, token in enumerate(x):
        by_rule = t >= BACK and token == (x[t - BACK] + 1) % VOCAB
        ax.text(t, 0, str(token), ha="center", va="center", fontsize=12, bbox=dict(boxstyle="square,pad=0.35", fc="#FFFFFF" if by_rule or t < BACK else "#E69F00", ec="black"))
        if by_rule:
            ax.annotate("", (t - 0.05, 0.38), (t - BACK + 0.05, 0.38), arrowprops=dict(arrowstyle="-|>", color="#888888", connectionstyle="arc3,rad=-0.45"))
    thrown = [t for t in range(BACK, length) if x[t] != (x[t - BACK] + 1) % VOCAB]
    ax.set(xlim=(-0.7, length - 0.3), ylim=(-0.5, 1.25))
    ax.axis("off")
    ax.set_title("The k-back language: three places back, plus one (shaded: thrown at random)")
    show(fig, f"The text {x}: each token is the one three places back plus one, mod 8, except at places {thrown}, thrown at random.")


def _method(name):
    return {"learned": "learned", "rope": "RoPE", "alibi": "ALiBi"}.get(name, name)


def _said(guess, came_out):
    return "" if not guess else f"  (you guessed {guess}, it came out {came_out})"


def show_reach(curves, title, note=""):
    """curves: {method: [{context: loss}, one for each seed]}. Median as a line, the seeds as a band, the trained length marked."""
    fig, ax = plt.subplots(figsize=(7, 3.9))
    words = []
    for name, losses in curves.items():
        contexts = sorted(set.intersection(*(set(one) for one in losses)))
        table = torch.tensor([[one[c] for c in contexts] for one in losses])        # (seeds, contexts)
        low, mid, high = table.amin(0), table.median(0).values, table.amax(0)
        style = METHODS[_method(name)]
        ax.fill_between(contexts, low, high, color=style["color"], alpha=0.2, lw=0)
        ax.plot(contexts, mid, lw=1.8, ms=6, label=_method(name), **style)
        words.append(f"{_method(name)} " + ", ".join(f"{m:.2f} at {c}" for c, m in zip(contexts, mid.tolist())))
    ticks = sorted({c for losses in curves.values() for one in losses for c in one})
    ax.axvline(TRAINED, color="black", lw=1, ls="--")
    ax.axhline(math.log(VOCAB), color="#888888", lw=1, ls=":")
    ax.axhline(bayes_loss(), color="#888888", lw=1, ls=":")
    ax.set_xscale("log", base=2)
    ax.set_xlim(22, ticks[-1] * 1.05)
    top = max(3.9, ax.get_ylim()[1])
    ax.set_ylim(0, top)
    ax.set_xticks(ticks, [str(c) for c in ticks])
    ax.minorticks_off()
    ax.text(TRAINED * 1.01, top, "trained up to here", fontsize=8.5, va="top", ha="left")
    ax.text(ticks[-1] * 1.04, math.log(VOCAB) + 0.05, "guessing blindly, ln 8", fontsize=8.5, color="#555555", ha="right")
    ax.text(ticks[-1] * 1.04, bayes_loss() - 0.06, "best possible on these targets", fontsize=8.5, color="#555555", va="top", ha="right")
    ax.set_xlabel("context in front of the target (tokens)")
    ax.set_ylabel("loss on the same 16 targets (nats)")
    ax.legend(loc="upper left", bbox_to_anchor=(0.07, 0.95))
    ax.set_title(title + note)
    show(fig, f"Loss against context, trained length {TRAINED}. Medians: " + "; ".join(words) + ".")


def show_reach_bars(reaches):
    """reaches: {method: [int for each seed]}: one bar for each model."""
    fig, ax = plt.subplots(figsize=(7, 2.5))
    place, names = 0, []
    for name, values in reaches.items():
        for seed, value in enumerate(values):
            ax.barh(place, value, color=METHODS[_method(name)]["color"], height=0.7)
            ax.plot(value, place, marker=METHODS[_method(name)]["marker"], color="black", ms=6)
            ax.text(value + 0.7, place, str(value), va="center", fontsize=9)
            names.append(f"{_method(name)}, model {seed + 1}")
            place += 1
        place += 0.4
    ticks, at = [], 0
    for values in reaches.values():
        ticks += [at + i for i in range(len(values))]
        at += len(values) + 0.4
    ax.set_yticks(ticks, names, fontsize=9)
    ax.invert_yaxis()
    ax.axvline(TRAINED, color="black", lw=1, ls="--")
    ax.set_xlim(0, max(50, max(v for values in reaches.values() for v in values) * 1.1))
    ax.set_xlabel("reach (tokens of context); dashed: trained length")
    ax.set_title("How far each model reaches")
    show(fig, "Reach of each model: " + "; ".join(f"{_method(n)} {', '.join(map(str, v))}" for n, v in reaches.items()) + f". Trained length {TRAINED}.")


def _circle(ax, radius):
    ax.add_patch(plt.Circle((0, 0), radius, fill=False, color="#BBBBBB", lw=1))
    ax.axhline(0, color="#E5E5E5", lw=0.8, zorder=0)
    ax.axvline(0, color="#E5E5E5", lw=0.8, zorder=0)
    ax.set_aspect("equal")
    ax.set(xlim=(-radius * 1.4, radius * 1.4), ylim=(-radius * 1.4, radius * 1.4), xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set_visible(False)


def _arrow(ax, xy, color, text="", style="-", lw=2.2, reach=0.1):
    x, y = float(xy[0]), float(xy[1])
    ax.annotate("", (x, y), (0, 0), arrowprops=dict(arrowstyle="-|>", color=color, lw=lw, ls=style, shrinkA=0, shrinkB=0))
    if text:
        length = math.hypot(x, y) or 1.0
        away = reach / length
        ax.text(x + x * away, y + y * away, text, color=color, fontsize=9, va="bottom" if y > 0.5 * length else "top" if y < -0.5 * length else "center",
                ha="left" if x > 0.2 * length else "right" if x < -0.2 * length else "center")


def show_turn(rotate, guess="", came_out=""):
    """An arrow of length 2 after 0 to 3 turns of 30 degrees, as `rotate` does it."""
    fig, ax = plt.subplots(figsize=(5.4, 3.6))
    _circle(ax, 2.0)
    ax.set(xlim=(-2.4, 3.6), ylim=(-0.9, 2.8))
    lengths = []
    for m in range(4):
        xy = rotate(torch.tensor([2.0, 0.0]), torch.tensor(m * math.pi / 6))
        lengths.append(float(xy.norm()))
        _arrow(ax, xy, PALETTE[0] if m == 3 else "#999999" if m else "black", f"m = {m}\nlength {lengths[-1]:.2f}", "-" if m in (0, 3) else "--")
    ax.set_title("Three turns of 30°" + _said(guess, came_out))
    show(fig, "An arrow on a circle at m = 0, 1, 2, 3; lengths " + ", ".join(f"{v:.2f}" for v in lengths) + "; the last one points straight up.")


def show_arrows(rotate, places, step=30):
    """A query at m and a key at n on one circle, for each (m, n) in places; the score is their dot product."""
    fig, axes = plt.subplots(1, len(places), figsize=(max(3.4, 2.05 * len(places)), 2.75), squeeze=False)
    words = []
    for ax, (m, n) in zip(axes[0], places):
        q = rotate(torch.tensor([1.0, 0.25]), torch.tensor(m * step * math.pi / 180))
        k = rotate(torch.tensor([0.9, -0.5]), torch.tensor(n * step * math.pi / 180))
        _circle(ax, 1.05)
        _arrow(ax, q, PALETTE[0], "q")
        _arrow(ax, k, PALETTE[1], "k", "--")
        score = float((q * k).sum())
        ax.set_title(f"m = {m}, n = {n}\nscore {score:.2f}".replace("-", "−"), loc="center", fontsize=10)
        words.append(f"m={m}, n={n}: {score:.2f}")
    show(fig, "Query q (solid) and key k (dashed), each turned by 30 degrees a position; score " + "; ".join(words) + ".")


def show_score_by_offset(rotate, seeds=(0, 1, 2)):
    """Score against signed offset m - n for random q, k of four pairs that turn at four speeds."""
    speeds = torch.tensor([0.9, 0.4, 0.15, 0.05])
    offsets = torch.arange(-12, 13)
    fig, ax = plt.subplots(figsize=(7, 3.2))
    words = []
    for seed, mark, color, line in zip(seeds, "Dsv", PALETTE, ("-", "--", ":")):
        generator = torch.Generator().manual_seed(seed)
        q, k = torch.randn(2, 4, 2, generator=generator)
        turned = torch.stack([rotate(q, d * speeds) for d in offsets])          # (offsets, pairs, 2)
        scores = (turned * k).sum((-1, -2))
        ax.plot(offsets, scores, color=color, marker=mark, ms=4, ls=line, label=f"random q and k, draw {seed + 1}")
        words.append(f"draw {seed + 1}: {scores[9]:.2f} at -3, {scores[12]:.2f} at 0, {scores[15]:.2f} at 3")
    ax.axvline(0, color="black", lw=0.8)
    ax.set_xlabel("signed offset m − n (tokens)")
    ax.set_ylabel("score")
    ax.set_title("The score neither falls steadily nor forgets the sign")
    ax.legend(fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    show(fig, "Score against signed offset for three random pairs of q and k: " + "; ".join(words) + ".")


def _full_turns(cos, sin):
    """Tokens that each pair needs for a full turn, read from row 1 of the tables."""
    return 2 * math.pi / torch.atan2(sin[1].double(), cos[1].double())


def show_clocks(cos, sin, guess="", came_out=""):
    """One clock for each pair: the hand at every position of a trained text; under it the length of a full turn."""
    turns, seq = _full_turns(cos, sin), cos.shape[0]
    fig, axes = plt.subplots(2, (len(turns) + 1) // 2, figsize=(7.2, 4.2))
    for i, ax in enumerate(axes.flat):
        _circle(ax, 1.0)
        for m in range(seq):
            ax.plot([0, cos[m, i]], [0, sin[m, i]], color=PALETTE[0], alpha=0.18, lw=1)
        _arrow(ax, (cos[-1, i], sin[-1, i]), "black", lw=1.6)
        ax.set_title(f"pair {i}\n{turns[i]:,.0f} tokens a turn", fontsize=9, loc="center")
    fig.suptitle(f"Where the hands are at positions 0 to {seq - 1} (black: the last)" + _said(guess, came_out), fontsize=11, x=0.01, ha="left")
    show(fig, f"Eight clocks over positions 0 to {seq - 1}; tokens for a full turn: " + ", ".join(f"{t:,.0f}" for t in turns.tolist()) + ".")


def show_lamps(panel, title="Six lamps"):
    """panel: {name: {lamp: lit}}: one row of lamps for each function."""
    fig, ax = plt.subplots(figsize=(7, 0.95 + 0.45 * len(panel)))
    for row, (name, lit) in enumerate(panel.items()):
        row *= 0.6
        for column, lamp in enumerate(LAMPS):
            ax.add_patch(plt.Circle((column, -row), 0.2, facecolor="#009E73" if lit[lamp] else "white", edgecolor="black", lw=1.2))
            ax.text(column + 0.27, -row, "on" if lit[lamp] else "dark", va="center", fontsize=9)
        ax.text(-0.55, -row, name, ha="right", va="center", fontsize=10)
    for column, lamp in enumerate(LAMPS):
        ax.text(column, 0.42, lamp, ha="center", va="bottom", fontsize=10)
    longest = max(len(name) for name in panel)
    ax.set(xlim=(-0.7 - 0.11 * longest, len(LAMPS) - 0.3), ylim=(-0.6 * len(panel) + 0.25, 0.75))
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(title)
    show(fig, "; ".join(f"{name}: dark are {', '.join(k for k, v in lit.items() if not v) or 'none'}" for name, lit in panel.items()) + ".")


def show_stripes(turn, rows):
    """Score of one q and one k at every pair of positions: turned by `turn`, and with learned rows (seq, d_model) added."""
    generator = torch.Generator().manual_seed(1)
    seq = rows.shape[0]
    q, k = torch.randn(2, 16, generator=generator)
    a, b = (turn(v.expand(1, 1, seq, 16).clone())[0, 0] for v in (q, k))
    word = torch.randn(rows.shape[1], generator=generator) * rows.std()
    added = word + rows
    fig, axes = plt.subplots(1, 2, figsize=(7, 3.5))
    for ax, scores, name in ((axes[0], a @ b.T, "turned (RoPE): stripes"), (axes[1], added @ added.T, "added (learned): patchwork")):
        picture = ax.imshow(scores.detach())
        ax.set(xlabel="position n of the key", ylabel="position m of the query")
        ax.set_title(name)
        fig.colorbar(picture, ax=ax, shrink=0.75, label="score")
    show(fig, "Two heat maps of the score for one and the same content at every m and n. Turned: constant along each diagonal. Learned rows added: no diagonal is constant.")


def show_windows(bias):
    """bias (heads, seq, seq): how many tokens back hold 95 % of a head's weight, when all contents score alike."""
    heads, seq = bias.shape[0], bias.shape[-1]
    weights = bias.detach().float().expand(heads, seq, seq)[:, -1].softmax(-1).flip(-1)     # (heads, seq): 0 tokens back first
    windows = [(w.cumsum(0) < 0.95).sum().item() + 1 for w in weights]
    fig, ax = plt.subplots(figsize=(7, 3))
    for h, mark, line in zip(range(heads), "Dsv^o*xP", ["-", "--", ":", "-."] * 2):
        ax.plot(weights[h] / weights[h, 0], color=PALETTE[h % len(PALETTE)], ls=line, lw=1.8, label=f"head {h + 1}: 95 % lies in the last {windows[h]}")
    ax.axvline(TRAINED, color="black", lw=1, ls="--")
    ax.set(xlabel=f"tokens back (dashed: trained length {TRAINED})", ylabel="weight, newest token = 1")
    ax.set_title("Each head's window, all contents alike")
    ax.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    show(fig, "ALiBi's weight against distance; 95 % of it lies in the last " + ", ".join(f"{w} tokens (head {h + 1})" for h, w in enumerate(windows)) + ".")


def show_full_turns(cases):
    """cases: {name: (cos, sin, trained length)}: tokens for a full turn of each pair; hollow where training never finished one."""
    fig, axes = plt.subplots(1, len(cases), figsize=(7.2, 3.3))
    words = []
    for ax, (name, (cos, sin, trained)) in zip(axes, cases.items()):
        turns = _full_turns(cos, sin)
        done = turns <= trained
        pairs = torch.arange(len(turns))
        ax.plot(pairs[done], turns[done], "o", color=PALETTE[0], ls="none", label=f"finished: {int(done.sum())}")
        ax.plot(pairs[~done], turns[~done], "o", color=PALETTE[0], mfc="white", ls="none", label=f"unfinished: {int((~done).sum())}")
        ax.axhline(trained, color="black", lw=1, ls="--")
        ax.set_yscale("log")
        ax.xaxis.set_major_locator(plt.MaxNLocator(integer=True))
        ax.set(xlabel="pair", ylabel="tokens for a full turn")
        ax.set_title(f"{name}\ndashed: trained length {trained:,}", fontsize=10)
        ax.legend(fontsize=9, loc="upper left", handletextpad=0.1)
        words.append(f"{name}: {int((~done).sum())} of {len(turns)} unfinished")
    show(fig, "Tokens for a full turn, pair by pair. " + "; ".join(words) + ".")


def show_rulers(everywhere, tail):
    """Two rulers, one model: {context: loss} as a mean over all places, and on the last 16 targets."""
    fig, ax = plt.subplots(figsize=(7, 3.4))
    contexts = sorted(tail)
    for losses, name, color, mark, line in ((everywhere, "mean over all places", PALETTE[4], "o", "--"), (tail, "last 16 targets", PALETTE[0], "D", "-")):
        ax.plot(contexts, [losses[c] for c in contexts], color=color, marker=mark, ls=line, label=f"{name} ({losses[contexts[-1]]:.2f} at {contexts[-1]})")
    ax.axvline(TRAINED, color="black", lw=1, ls="--")
    ax.set_xscale("log", base=2)
    ax.set_xticks(contexts, [str(c) for c in contexts])
    ax.minorticks_off()
    ax.set_ylim(0, None)
    ax.set(xlabel=f"length of the text (tokens; dashed: trained length {TRAINED})", ylabel="loss (nats)")
    ax.set_title("One RoPE model, two rulers")
    ax.legend(loc="upper left", bbox_to_anchor=(0.07, 1.0))
    show(fig, "Loss of one RoPE model: " + "; ".join(f"at {c} {everywhere[c]:.2f} over all places, {tail[c]:.2f} on the last 16" for c in contexts) + ".")


def show_answer_distance(panel, losses=None):
    """panel: {name: {distance: share}}: how often the answer is the token that far before the query, plus one."""
    fig, axes = plt.subplots(1, len(panel), figsize=(7.2, 3.1), sharey=True)
    words = []
    for ax, (name, shares) in zip(axes, panel.items()):
        top = max(shares, key=shares.get)
        ax.bar(list(shares), list(shares.values()), color=[PALETTE[0] if d == top else "#BBBBBB" for d in shares])
        ax.axhline(1 / VOCAB, color="black", lw=1, ls=":")
        ax.text(top, shares[top] + 0.02, f"{shares[top]:.0%}", ha="center", fontsize=9)
        ax.set_ylim(0, 1.1)
        ax.set_xticks(list(shares)[::2])
        ax.set_title(name if losses is None else f"{name}\nloss {losses[name]:.2f}", fontsize=10)
        words.append(f"{name}: {shares[top]:.0%} from {top} before" + ("" if losses is None else f", loss {losses[name]:.2f}"))
    axes[0].set_ylabel("share of answers (dotted: chance)")
    fig.supxlabel("the answer's distance from the query (tokens)", fontsize=10)
    show(fig, "From how far back the answers come. " + "; ".join(words) + ".")


# Perplexity, as printed: {context: value} for each method, trained at the first context.
PUBLISHED = {
    "Press et al. 2022, Table 2\n(trained on 512)": {
        "sinusoidal": {512: 20.05, 612: 20.59, 712: 24.86, 812: 30.82, 1012: 43.54, 1512: 76.23, 2512: 132.4},
        "RoPE": {512: 20.07, 612: 19.81, 712: 19.79, 812: 20.17, 1012: 21.37, 1512: 25.99, 2512: 31.58},
        "ALiBi": {512: 19.73, 612: 19.38, 712: 19.14, 812: 18.99, 1012: 18.73, 1512: 18.52, 2512: 18.41}},
    "Kazemnejad et al. 2023, Table 4\n(trained on 1,024)": {
        "none": {1024: 2.82, 1200: 2.79, 1400: 2.87, 1600: 8.84, 1800: 42.1, 2048: 133, 2560: 419},
        "RoPE": {1024: 2.73, 1200: 3.60, 1400: 174.7, 1600: 529, 1800: 695, 2048: 741, 2560: 857},
        "ALiBi": {1024: 2.91, 1200: 2.98, 1400: 3.10, 1600: 4.92, 1800: 15.5, 2048: 43.6, 2560: 142}},
    "Peng et al. 2024, released data\n(Llama-2-70B, 4,096)": {
        "RoPE": {4096: 2.957, 4608: 2.975, 5120: 3.670, 5632: 6.478, 6144: 11.86, 7168: 29.54, 8192: 56.10}},
}


def show_published(curves):
    """curves: {method: [{context: loss}, ...]} of this notebook, beside three published ones; perplexity relative to the trained length."""
    own = {}
    for name, losses in curves.items():
        own[_method(name)] = {c: math.exp(sorted(one[c] for one in losses)[len(losses) // 2]) for c in CONTEXTS}
    panels = {f"This notebook\n(trained on {TRAINED})": own, **PUBLISHED}
    fig, axes = plt.subplots(2, 2, figsize=(7.2, 5.6), sharex=True, sharey=True)
    for ax, (name, lines) in zip(axes.flat, panels.items()):
        for method, values in lines.items():
            start = min(values)
            ax.plot([c / start for c in values], [v / values[start] for v in values.values()], ms=4, label=method, **METHODS[method])
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_xticks([1, 1.25, 1.5, 2, 4], ["1", "1.25", "1.5", "2", "4"])
        ax.minorticks_off()
        ax.axhline(1, color="#888888", lw=0.8, ls=":")
        ax.set_title(name, fontsize=10)
        ax.legend(fontsize=8.5, loc="center right" if "none" in lines else "upper left")
    for ax in axes[1]:
        ax.set_xlabel("context / trained length")
    for ax in axes[:, 0]:
        ax.set_ylabel("perplexity, trained length = 1")
    show(fig, "Four panels of perplexity against context, both relative to the trained length: this notebook, Press et al., Kazemnejad et al., Peng et al. RoPE rises in all of them, at 1.2 to 2 times the trained length; ALiBi is flat in two and rises in Kazemnejad et al.")
# ======== for 06: RoPE and ALiBi as classes, tasks, real text, training on ========
from collections import Counter
from re import findall


class RotaryPosition(Position):
    """RoPE. `speed`: radians a place, one for each pair of features (04's by default); `temperature`: what q and k are multiplied with.

    A pair is one complex number and a turn is one multiplication: the fastest of the three forms of 06.6.
    """

    def __init__(self, speed=None, temperature=1.0):
        super().__init__()
        self.speed, self.temperature, self.kept = speed, temperature, {}

    def turns(self, head_dim, seq):
        """-> (seq, head_dim / 2) complex numbers, one turn for each place and pair; made once for each size."""
        if (head_dim, seq) not in self.kept:
            speed = rope_speeds(head_dim) if self.speed is None else self.speed
            angle = torch.outer(torch.arange(seq).float(), speed)
            self.kept[head_dim, seq] = torch.polar(torch.full_like(angle, self.temperature), angle)
        return self.kept[head_dim, seq]

    def rotate(self, q, k):
        turns = self.turns(q.shape[-1], q.shape[-2])
        return tuple(torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns).flatten(-2) for x in (q, k))


def rope_speeds(head_dim, base=10000.0):
    """-> (head_dim / 2,) radians a place: how fast each pair of features turns."""
    return base ** (-torch.arange(0, head_dim, 2) / head_dim)


class AlibiPosition(Position):
    """ALiBi for a number of heads that is a power of two: minus slope times distance."""

    def __init__(self, n_heads=4):
        super().__init__()
        self.slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)

    def bias(self, seq):
        place = torch.arange(seq)
        return -self.slopes[:, None, None] * (place[:, None] - place)       # (heads, seq, seq)


def position(method, d_model=32, most=8 * TRAINED):
    """The position method of that name: none, learned, sinusoidal, RoPE or ALiBi. `most`: rows of the learned table."""
    makers = {"none": Position, "learned": lambda: LearnedPosition(most, d_model), "sinusoidal": SinusoidalPosition, "RoPE": RotaryPosition, "ALiBi": AlibiPosition}
    if method not in makers:
        raise ValueError(f"no method {method!r}; there are {', '.join(makers)}")
    return makers[method]()


@interruptible
def tune(model, batches, steps, lr=4e-3, seed=0, label="training on", watch=None):
    """Train a copy of a model further and give it back in eval mode; the model itself stays as it is.

    batches and lr as in `train`. watch: a function of the model; `watched` of the copy holds pairs of step and what it gave.
    """
    model, draw = copy.deepcopy(model).train(), torch.Generator().manual_seed(1000 + seed)
    model.watched = []
    for step in descent(model, batches, draw, steps, lr, label):
        if watch is not None and step % max(1, steps // 10) == 0:
            model.watched.append((step, watch(model)))
    if watch is not None:
        model.watched.append((steps, watch(model)))
    return model.eval()


# ---------------------------------------------------------------- copying a word: START w SEPARATOR w

SYMBOLS = 32
SEPARATOR, START, COPY_VOCAB = SYMBOLS, SYMBOLS + 1, SYMBOLS + 2
COPY_TRAINED = 11       # the longest word in training; with it the text is 24 tokens long


def copy_text(n, length, generator):
    """n texts START w SEPARATOR w, w of `length` different symbols -> ids (n, 2 * length + 2)."""
    word = torch.rand(n, SYMBOLS, generator=generator).argsort(-1)[:, :length]
    start, separator = torch.full((n, 1), START), torch.full((n, 1), SEPARATOR)
    return torch.cat([start, word, separator, word], dim=1)


def copy_batches(shortest=8, longest=COPY_TRAINED, batch=32):
    """-> a function that draws a training batch for `train` and `tune`; asked is the second w alone, and all of a batch has one length."""
    def draw(generator):
        length = int(torch.randint(shortest, longest + 1, (1,), generator=generator))
        ids = copy_text(batch, length, generator)
        targets = ids[:, 1:].clone()
        targets[:, :length + 1] = -1
        return ids[:, :-1], targets
    return draw


def copied(model, length, n=256):
    """The share of symbols that a model copies rightly from words of that length (given the right ones before: teacher forcing)."""
    ids = copy_text(n, length, torch.Generator().manual_seed(5))
    with torch.no_grad():
        answers = model(ids[:, :-1])[:, length + 1:].argmax(-1)             # (n, length)
    return (answers == ids[:, length + 2:]).double().mean().item()


# ---------------------------------------------------------------- two tasks of order, read at the last place of 16

ORDER_LENGTH, A, B = 16, 8, 9


def first_token(n, generator):
    """Which token came first? -> ids (n, 16), targets asked at the last place alone."""
    ids = torch.randint(8, (n, ORDER_LENGTH), generator=generator)
    targets = torch.full_like(ids, -1)
    targets[:, -1] = ids[:, 0]
    return ids, targets


def which_first(n, generator):
    """Does A (8) come before B (9)? -> ids (n, 16), targets 1 or 0 at the last place alone."""
    ids = torch.randint(8, (n, ORDER_LENGTH), generator=generator)
    places = torch.rand(n, ORDER_LENGTH - 1, generator=generator).argsort(-1)[:, :2]
    ids.scatter_(1, places, torch.tensor([[A, B]]).expand(n, 2))
    targets = torch.full_like(ids, -1)
    targets[:, -1] = (places[:, 0] < places[:, 1]).long()
    return ids, targets


def at_the_end(model, task, n=4096):
    """-> (loss in nats, share of right answers) on n fresh texts of a task of order."""
    ids, targets = task(n, torch.Generator().manual_seed(77))
    with torch.no_grad():
        logits = model(ids)[:, -1]
    return F.cross_entropy(logits, targets[:, -1]).item(), (logits.argmax(-1) == targets[:, -1]).double().mean().item()


def with_start(batches, start=VOCAB):
    """The same batches with one token in front that stands nowhere else."""
    def draw(generator):
        ids, targets = batches(generator)
        return F.pad(ids, (1, 0), value=start), F.pad(targets, (1, 0), value=-1)
    return draw


def probe(model, ids):
    """How well can a straight line read the place out of a token's vector? -> mean error in places, for the table's rows and after each layer.

    ids (n, seq). Fitted by least squares on the first half of the texts, judged on the second.
    """
    with torch.no_grad():
        states = model.stream(ids)
    errors, half, seq = [], len(ids) // 2, ids.shape[1]
    place = torch.arange(seq).double()
    for state in states:
        x = torch.cat([state.double(), torch.ones(*ids.shape, 1).double()], dim=-1)     # (n, seq, d_model + 1)
        known, unknown = x[:half].flatten(0, 1), x[half:]
        weights = torch.linalg.solve(known.T @ known + 1e-3 * torch.eye(x.shape[-1]).double(), known.T @ place.repeat(half))
        errors.append((unknown @ weights - place).abs().mean().item())
    return errors


# ---------------------------------------------------------------- real text: the documentation that ships with Python

TEXT_TRAINED = 32


@functools.cache
def documentation():
    """The text of Python's own help topics, in one string."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise ImportError("this Python came without pydoc_data, the texts behind help(). Run this notebook with a Python from python.org, conda, "
                          "Colab or Kaggle, or let documentation() give a text of your own of some 400,000 characters.") from None
    return "\n\n".join(topics[name] for name in sorted(topics))


@functools.cache
def characters():
    """-> (ids of all characters of the documentation, the characters themselves: id -> character)."""
    known = sorted(set(documentation()))
    number = {c: i for i, c in enumerate(known)}
    return torch.tensor([number[c] for c in documentation()]), known


WORDS, NEVER = 1000, 40     # rows of the word table; the last ones of it stand for no word at all


@functools.cache
def words():
    """-> (ids of all words and signs of the documentation, how often each id occurs (WORDS,)). Rare ones share one id."""
    text = findall(r"[a-z]+|[^\sa-z]", documentation().lower())
    number = {word: i for i, (word, _) in enumerate(Counter(text).most_common(WORDS - NEVER - 1))}
    ids = torch.tensor([number.get(word, WORDS - NEVER - 1) for word in text])
    return ids, torch.bincount(ids[:len(ids) * 9 // 10], minlength=WORDS)


def text_batches(ids, length=TEXT_TRAINED, batch=32):
    """-> a function that draws a training batch from the first nine tenths of a text."""
    known = ids[:len(ids) * 9 // 10]

    def draw(generator):
        begin = torch.randint(len(known) - length - 1, (batch, 1), generator=generator)
        x = known[begin + torch.arange(length + 1)]                         # (batch, length + 1)
        return x[:, :-1], x[:, 1:]
    return draw


def text_loss(model, ids, length=TEXT_TRAINED, n=512):
    """Loss in nats at each place, on n pieces of the last tenth of a text, the same at each call -> (length,)."""
    fresh = ids[len(ids) * 9 // 10:]
    x = fresh[torch.linspace(0, len(fresh) - length - 2, n).long()[:, None] + torch.arange(length + 1)]
    with torch.no_grad():
        surprise = -model(x[:, :-1]).log_softmax(-1)
    return surprise.gather(-1, x[:, 1:, None])[..., 0].mean(0)


def write(model, begin="The ", length=90, heat=0.7, seed=0):
    """Let a character model write on; it sees the last 32 characters."""
    ids, known = characters()
    number, draw = {c: i for i, c in enumerate(known)}, torch.Generator().manual_seed(seed)
    text = [number[c] for c in begin]
    with torch.no_grad():
        for _ in range(length):
            logits = model(torch.tensor([text[-TEXT_TRAINED:]]))[0, -1] / heat
            text.append(int(torch.multinomial(logits.softmax(-1), 1, generator=draw)))
    return "".join(known[i] for i in text)


class UntiedTransformer(TinyTransformer):
    """The same model with a second table for the output, in place of the token table once more."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.head = nn.Parameter(0.02 * torch.randn(self.tokens.weight.shape))

    def forward(self, ids):
        return self.norm(self.stream(ids)[-1]) @ self.head.T                # (batch, seq, vocab_size)


def attention_of(model, ids):
    """The attention weights of a causal model on one text, ids (seq,) -> a list of (heads, seq, seq), one for each layer."""
    seq, maps = len(ids), []
    bias = model.position.bias(seq)
    later = torch.full((seq, seq), float("-inf")).triu(1)
    with torch.no_grad():
        for block, state in zip(model.blocks, model.stream(ids[None])):
            q, k, _ = block.qkv(block.norm1(state)).view(1, seq, 3, block.n_heads, block.head_dim).permute(2, 0, 3, 1, 4)
            q, k = model.position.rotate(q, k)                              # (1, heads, seq, head_dim)
            scores = q @ k.transpose(-1, -2) / math.sqrt(block.head_dim) + later + (0 if bias is None else bias)
            maps.append(scores.softmax(-1)[0])
    return maps


def mean_distance(maps):
    """How far back does attention look? The mean distance in tokens, over layers, heads and the later half of the places."""
    weights = torch.stack(maps)                                             # (layers, heads, seq, seq)
    place = torch.arange(weights.shape[-1])
    return (weights * (place[:, None] - place))[..., len(place) // 2:, :].sum(-1).mean().item()


def race(forms, repeats=40, **sizes):
    """Seconds a call of each function, run in turns so that a busy machine troubles all alike -> {name: median}.

    forms: {name: function without arguments}.
    """
    seconds = {name: [] for name in forms}
    for again in range(repeats + 3):
        for name, form in forms.items():
            begin = time.perf_counter()
            form()
            if again >= 3:      # the first rounds only warm up
                seconds[name].append(time.perf_counter() - begin)
    return {name: sorted(taken)[len(taken) // 2] for name, taken in seconds.items()}


# ======== for 06: pictures of what was measured, and what was published ========
# Five ways to turn: RoPE's own marks for the plain one, colours that no method has for the others.
RESCALED = {
    "plain": dict(METHODS["RoPE"], ls="-"),
    "interpolation": dict(color="#E69F00", marker="P", ls="--"),
    "NTK-aware": dict(color="#56B4E9", marker="X", ls="-."),
    "by parts": dict(color="#8A6D3B", marker="*", ls=":"),
    "YaRN": dict(color="#000000", marker="p", ls="--"),
}
CHEN = "Chen et al. 2023"           # arXiv 2306.15595
PENG = "Peng et al. 2024"           # arXiv 2309.00071
PRESS = "Press et al. 2022"         # arXiv 2108.12409
HAVIV = "Haviv et al. 2022"         # arXiv 2203.16634
KAZEMNEJAD = "Kazemnejad et al. 2023"   # arXiv 2305.19466


def _ticks(ax, values, base=2):
    """A logarithmic axis with just these ticks."""
    ax.set_xscale("log", base=base)
    ax.set_xticks(values, [f"{v:,}" for v in values])
    ax.minorticks_off()


def show_rescaled(rescaled, own, stretch, trained=TRAINED):
    """rescaled {name: speeds}, own speeds (pairs,): what each method does to each hand, and how many turns of it training showed."""
    fig, ax = plt.subplots(figsize=(7, 3.3))
    pairs = range(len(own))
    for name, speed in rescaled.items():
        ax.plot(pairs, speed / own, ms=8, lw=1.6, label=name, **RESCALED[name])
    ax.axhline(1 / stretch, color="#888888", lw=1, ls=":")
    ax.text(len(own) - 0.62, 1 / stretch, f"1/{stretch}", va="center", fontsize=9, color="#555555")
    ax.set_xticks(list(pairs), [f"{i}\n{trained * v / (2 * math.pi):.2g}" for i, v in enumerate(own.tolist())])
    ax.set(ylim=(0, 1.12), xlim=(-0.3, len(own) - 0.5), ylabel="new speed / old speed", xlabel=f"pair of features; below it, its turns within the {trained} trained tokens")
    ax.set_title(f"What stretching by {stretch} does to each hand")
    ax.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    show(fig, f"New speed over old speed for each pair, stretched by {stretch}. " + "; ".join(f"{n}: " + ", ".join(f"{v:.2f}" for v in (s / own).tolist()) for n, s in rescaled.items()) + ".")


def show_rescaled_results(losses, copies, stretch):
    """losses {name: {context: loss}} on the k-back language, copies {name: {length: share}}: one picture, two tasks."""
    fig, axes = plt.subplots(1, 2, figsize=(7.4, 4.1))
    for ax, curves in zip(axes, (losses, copies)):
        for name, values in curves.items():
            ax.plot(list(values), list(values.values()), ms=6, lw=1.6, label=name, **RESCALED[name])
        _ticks(ax, list(next(iter(curves.values()))))
    axes[0].axvline(TRAINED, color="black", lw=1, ls="--")
    axes[1].axvline(COPY_TRAINED, color="black", lw=1, ls="--")
    axes[0].axhline(math.log(VOCAB), color="#888888", lw=1, ls=":")
    axes[0].set(xlabel="context (tokens; dashed: trained)", ylabel="loss on the same 16 targets (nats)", ylim=(0, None), title="Guess the next token (k-back)")
    axes[1].set(xlabel="length of the word (dashed: trained)", ylabel="share of symbols copied rightly", ylim=(-0.03, 1.05), title="Copy the word")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    fig.suptitle(f"Speeds stretched by {stretch}, nothing trained again", fontsize=11, x=0.01, ha="left")
    show(fig, "Loss on k-back: " + "; ".join(f"{n} " + ", ".join(f"{v:.2f} at {c}" for c, v in s.items()) for n, s in losses.items()) +
         ". Copied rightly: " + "; ".join(f"{n} " + ", ".join(f"{v:.0%} of {c}" for c, v in s.items()) for n, s in copies.items()) + ".")


def show_published_rescaling():
    """Perplexity of rescaled Llama-2 models beyond their new length, and the passkey distance after fine-tuning."""
    fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.5), width_ratios=[1.25, 1])
    contexts = [2048, 4096, 8192, 10240, 12288, 16384]
    for name, values in (("interpolation", [3.92, 3.51, 3.34, 8.07, 23.5, 102.7]), ("NTK-aware", [4.20, 3.75, 3.59, 6.24, 18.3, 74.4]), ("YaRN", [3.92, 3.51, 3.36, 6.05, 18.1, 77.2])):
        axes[0].plot(contexts, values, ms=6, label=name, **RESCALED[name])
    axes[0].axvline(8192, color="black", lw=1, ls="--")
    axes[0].set_yscale("log")
    axes[0].set_yticks([3, 10, 30, 100], ["3", "10", "30", "100"])
    axes[0].set_xticks([2048, 4096, 8192, 12288, 16384], ["2k", "4k", "8k", "12k", "16k"])
    axes[0].minorticks_off()
    axes[0].set(xlabel="context (tokens; dashed: the new length)", ylabel="perplexity")
    axes[0].set_title(f"Llama-2-7B, from 4k to 8k\n({PENG}, released data)", fontsize=10)
    axes[0].legend(fontsize=9)
    bars = axes[1].bar(["plain", "interpolation"], [1792, 8192], width=0.55, color=[RESCALED["plain"]["color"], RESCALED["interpolation"]["color"]], hatch=["", "//"], edgecolor="white")
    axes[1].bar_label(bars, ["1,792", "8,192"], padding=12)
    axes[1].axhline(2048, color="black", lw=1, ls="--")
    axes[1].set(ylabel="passkey found up to (tokens back)", xlabel="dashed: the old length, 2,048", ylim=(0, 9800))
    axes[1].set_title(f"LLaMA-7B, 200 more steps at 8,192\n({CHEN}, Table 4)", fontsize=10)
    show(fig, "Published. Llama-2-7B stretched to 8,192 tokens: perplexity 3.3 to 3.6 there, 6 to 8 at 10,240, 74 to 103 at 16,384, for interpolation, NTK-aware and YaRN alike. "
              "LLaMA-7B after 200 more steps at 8,192: a passkey is found up to 1,792 tokens back with plain RoPE, up to 8,192 with interpolation.")


def show_mended(before, after, length, loss):
    """before, after {name: share copied}: short training at length; loss {name: (before, after)} on k-back."""
    fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.3), width_ratios=[1.5, 1])
    for ax, names, first, second in ((axes[0], list(before), list(before.values()), list(after.values())), (axes[1], list(loss), [v[0] for v in loss.values()], [v[1] for v in loss.values()])):
        for i, name in enumerate(names):
            style = RESCALED[name]
            ax.plot([i - 0.16], first[i:i + 1], marker=style["marker"], ms=9, color=style["color"], mfc="white", ls="none")
            ax.plot([i + 0.16], second[i:i + 1], marker=style["marker"], ms=9, color=style["color"], ls="none")
            ax.annotate("", (i + 0.13, second[i]), (i - 0.13, first[i]), arrowprops=dict(arrowstyle="-|>", color="#888888", shrinkA=5, shrinkB=5))
        ax.set_xticks(range(len(names)), [n.replace("interpolation", "inter-\npolation").replace("NTK-aware", "NTK-\naware") for n in names], fontsize=9)
        ax.set_xlim(-0.5, len(names) - 0.5)
    axes[0].set(ylabel="share copied rightly", ylim=(-0.03, 1.05))
    axes[0].set_title(f"Words of {length} symbols", fontsize=10)
    axes[1].axhline(math.log(VOCAB), color="#888888", lw=1, ls=":")
    axes[1].set(ylabel=f"loss at context {2 * TRAINED} (nats)", ylim=(0, None))
    axes[1].set_title("k-back (dotted: blind guessing)", fontsize=10)
    fig.suptitle("Before (hollow) and after (filled) a short training at twice the length", fontsize=11, x=0.01, ha="left")
    show(fig, f"Words of {length} copied before and after: " + "; ".join(f"{n} {before[n]:.0%} to {after[n]:.0%}" for n in before) +
         f". k-back loss at context {2 * TRAINED}: " + "; ".join(f"{n} {a:.2f} to {b:.2f}" for n, (a, b) in loss.items()) + ".")


def show_swaps(swaps):
    """swaps {(old, new): {"old": loss, "swapped": [(step, loss)], "fresh": [(step, loss)]}}, and a published change of angles beside it."""
    fig, axes = plt.subplots(2, 2, figsize=(7.4, 5.6))
    words = []
    for ax, ((old, new), run) in zip(axes.flat, swaps.items()):
        style = METHODS[new]
        for name, points, line, fill in (("swapped", run["swapped"], "-", style["color"]), ("from nothing", run["fresh"], ":", "white")):
            ax.plot(*zip(*points), ls=line, ms=5, color=style["color"], marker=style["marker"], mfc=fill, label=f"{new}, {name}")
        ax.axhline(run["old"], color=METHODS[old]["color"], lw=1.2, ls="--")
        ax.text(0, run["old"] - 0.06, f"{old}, before the swap", fontsize=8.5, ha="left", va="top", color="#333333")
        ax.axhline(math.log(VOCAB), color="#888888", lw=0.8, ls=":")
        ax.set(ylim=(0, max(4.0, run["swapped"][0][1] * 1.05)), xlabel="steps of training after the swap", ylabel="loss (nats)")
        ax.set_title(f"{old} → {new}", fontsize=10)
        ax.legend(fontsize=8.5, loc="upper right")
        words.append(f"{old} to {new}: {run['old']:.2f} before, {run['swapped'][0][1]:.2f} at once, {run['swapped'][-1][1]:.2f} after {run['swapped'][-1][0]} steps; from nothing {run['fresh'][-1][1]:.2f}")
    ax = axes.flat[-1]
    bars = ax.bar(["before\n(2,048)", "at once\n(8,192)", "200 steps\n(8,192)"], [7.20, 16.10, 7.12], width=0.55, color=RESCALED["interpolation"]["color"], edgecolor="white")
    ax.bar_label(bars, ["7.20", "16.10", "7.12"], padding=2)
    ax.set(ylabel="perplexity", ylim=(0, 19))
    ax.set_title(f"Published: RoPE's angles changed\n({CHEN}; at once: Table 3)", fontsize=10)
    show(fig, "; ".join(words) + ". Published: LLaMA-7B with interpolated RoPE, perplexity 7.20 before, 16.10 at once, 7.12 after 200 steps.")


def show_real_text(short, long, steps):
    """short, long {method: losses (place,)} after two budgets, steps (few, many): loss by place, and how the order changes."""
    fig, axes = plt.subplots(1, 2, figsize=(7.4, 4.0), width_ratios=[1.45, 1])
    for method, losses in long.items():
        smooth = losses.unfold(0, 5, 1).mean(-1)
        axes[0].plot(range(3, 3 + len(smooth)), smooth, lw=1.6, ms=5, markevery=4, **METHODS[method])
        axes[1].plot([0, 1], [short[method].mean(), losses.mean()], lw=1.6, ms=7, label=method, **METHODS[method])
    axes[0].set(xlabel="place in the text (mean of 5)", ylabel="loss (nats)", title=f"After {steps[1]} steps, place by place")
    axes[1].set_xticks([0, 1], [f"{n} steps" for n in steps])
    axes[1].set(xlim=(-0.2, 1.2), ylabel="mean loss (nats)", title="Two budgets")
    fig.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    show(fig, "Mean loss on characters of real text: " + "; ".join(f"{m} {short[m].mean():.2f} after {steps[0]} steps, {long[m].mean():.2f} after {steps[1]}" for m in long) + ".")


def show_published_text():
    """Perplexity of the five methods in length, from two papers."""
    fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.2))
    for ax, title, values, low in ((axes[0], f"{PRESS}, Table 2\n(WikiText-103, 512 tokens)", {"sinusoidal": 20.05, "RoPE": 20.07, "ALiBi": 19.73}, 19),
                                   (axes[1], f"{HAVIV}\n(the Pile, 1.3 B parameters)", {"none": 13.10, "learned": 13.05, "sinusoidal": 12.93, "ALiBi": 12.51}, 12)):
        for i, (method, value) in enumerate(values.items()):
            ax.plot([i], [value], ms=10, **METHODS[method])
            ax.text(i, value + 0.06, f"{value:.2f}", ha="center", va="bottom", fontsize=9)
        ax.set_xticks(range(len(values)), list(values))
        ax.set(xlim=(-0.5, len(values) - 0.5), ylim=(low, low + 1.5), ylabel="perplexity")
        ax.set_title(title, fontsize=10)
    show(fig, "Published perplexities in length. Press et al., Table 2: sinusoidal 20.05, RoPE 20.07, ALiBi 19.73. Haviv et al.: none 13.10, learned 13.05, sinusoidal 12.93, ALiBi 12.51.")


def show_shares(layers=12):
    """The table's share of all parameters against vocabulary and d_model, with three published models."""
    vocabulary, width = torch.logspace(8, 18, 80, base=2), torch.logspace(5, 13, 80, base=2)
    table = vocabulary[None] * width[:, None]                               # (width, vocabulary)
    share = table / (table + 12 * layers * width[:, None] ** 2)
    fig, ax = plt.subplots(figsize=(6.4, 3.9))
    picture = ax.pcolormesh(vocabulary, width, share, vmin=0, vmax=1, shading="auto")
    lines = ax.contour(vocabulary, width, share, levels=[0.1, 0.5, 0.9], colors="white", linewidths=1)
    ax.clabel(lines, fmt=lambda v: f"{v:.0%}", fontsize=9)
    for name, v, d, deep, ha in (("GPT-2 small", 50257, 768, 12, "right"), ("LLaMA 7B", 32000, 4096, 32, "right")):
        true = v * d / (v * d + 12 * deep * d * d)
        ax.plot(v, d, "o", ms=8, mfc="white", mec="black")
        ax.text(v * 0.8, d, f"{name}, {deep} layers: {true:.0%}", ha=ha, va="center", fontsize=9, bbox=dict(fc="white", ec="none", alpha=0.8, pad=1.5))
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_xticks([256, 4096, 32000, 131072], ["256", "4,096", "32,000", "131,072"])
    ax.set_yticks([32, 128, 768, 4096], ["32", "128", "768", "4,096"])
    ax.minorticks_off()
    ax.set(xlabel="vocabulary (tokens)", ylabel="d_model")
    ax.set_title(f"The table's share of the parameters, {layers} layers, tied")
    fig.colorbar(picture, ax=ax, label="share of all parameters")
    show(fig, f"Heat map of the table's share for {layers} layers: it grows with the vocabulary and falls with d_model. GPT-2 small 31%, LLaMA 7B 2% (with their own numbers of layers).")


def show_tied(runs):
    """runs {name: (parameters, loss)} for the word model, tied and not."""
    fig, ax = plt.subplots(figsize=(6.4, 3.0))
    for (name, (size, loss)), marker, color in zip(runs.items(), "sD^", (PALETTE[2], PALETTE[4], PALETTE[4])):
        ax.plot(size / 1000, loss, marker=marker, ms=10, color=color, ls="none")
        ax.annotate(name, (size / 1000, loss), (8, 0), textcoords="offset points", va="center", fontsize=9.5)
    sizes, losses = zip(*runs.values())
    ax.set(xlim=(min(sizes) / 1000 - 8, max(sizes) / 1000 + 32), ylim=(min(losses) - 0.08, max(losses) + 0.08), xlabel="parameters (thousands)", ylabel="loss on fresh text (nats)")
    ax.set_title("One table for input and output, or two?")
    show(fig, "Loss against parameters: " + "; ".join(f"{n}: {s / 1000:.0f} thousand, {v:.2f} nats" for n, (s, v) in runs.items()) + ".")


def show_norms(panel, counts):
    """panel {name: rows (vocab, d_model)}, counts (vocab,): length of each row against how often its token came."""
    fig, axes = plt.subplots(1, len(panel), figsize=(7.4, 3.5), sharey=True)
    seen, words = counts > 0, []
    for ax, (name, rows) in zip(axes, panel.items()):
        norms = rows.detach().norm(dim=-1)
        ax.plot(counts[seen], norms[seen], ".", color=PALETTE[0], ms=4, ls="none", label="looked up", rasterized=True)
        ax.plot(torch.full((int((~seen).sum()),), 0.2), norms[~seen], "x", color=PALETTE[1], ms=5, ls="none", label="never looked up")
        ax.set_xscale("log")
        ax.set_xticks([0.2, 1, 10, 100, 1000, 10000], ["never", "1", "10", "100", "1k", "10k"])
        ax.minorticks_off()
        ax.set(xlabel="times the word came in the text", ylim=(0, None))
        ax.set_title(name, fontsize=10)
        words.append(f"{name}: mean length {norms[seen].mean():.2f} for rows looked up, {norms[~seen].mean():.2f} for rows never looked up")
    axes[0].set_ylabel("length of the row")
    axes[-1].legend(fontsize=9, loc="upper left")
    show(fig, "Length of each row against how often its word came. " + "; ".join(words) + ".")


def show_place_maps(waves, before, after):
    """Three tables of places, each (seq, d_model): which rows are like which?"""
    fig, axes = plt.subplots(1, 3, figsize=(7.6, 3.1))
    for ax, rows, name in zip(axes, (waves, before, after), ("sinusoidal, fixed", "learned, before training", "learned, after training")):
        unit = F.normalize(rows.detach(), dim=-1)
        picture = ax.imshow(unit @ unit.T, vmin=-1, vmax=1)
        ax.set(xlabel="place")
        ax.set_title(name, fontsize=10)
    axes[0].set_ylabel("place")
    fig.colorbar(picture, ax=axes, label="cosine of the two rows", shrink=0.85)
    show(fig, "Cosine of every two rows. Sinusoidal: stripes, one value along each diagonal. Learned before training: nothing off the diagonal. After: near places alike.")


def show_waves_by_distance(speeds, trained, most=64):
    """RoPE's score for q = k = ones, pair by pair, against distance."""
    fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.7), width_ratios=[1.2, 1])
    distance = torch.arange(most)
    waves = torch.cos(speeds[:, None] * distance)                           # (pairs, distance)
    words = []
    for i, (wave, color, line) in enumerate(zip(waves, PALETTE, ["-", "--", "-.", ":"] * 2)):
        turn = 2 * math.pi / speeds[i].item()
        axes[0].plot(distance, wave, color=color, ls=line, lw=1.6, label=f"pair {i}: {turn:,.0f} a turn")
        words.append(f"pair {i} {turn:,.0f} tokens")
    axes[1].plot(distance, waves.sum(0), color="black", lw=1.6)
    for ax in axes:
        ax.axvline(trained, color="black", lw=1, ls="--")
        ax.set(xlabel="distance (tokens; dashed: trained)", ylabel="part of the score" if ax is axes[0] else "score")
    axes[0].set_title("Each pair's part of the score", fontsize=10)
    axes[1].set_title("All of them together", fontsize=10)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8.5)
    show(fig, f"RoPE's score for equal q and k against distance, pair by pair; a full turn takes: {', '.join(words)}. Dashed at {trained}.")


def show_attention(maps, letters):
    """maps {method: (seq, seq) weights}: who looks where in one sentence."""
    fig, axes = plt.subplots(2, 3, figsize=(7.6, 5.4))
    for ax, (method, weights) in zip(axes.flat, maps.items()):
        ax.imshow(weights, vmin=0, vmax=0.5)
        ax.set_xticks(range(len(letters)), letters, fontsize=7)
        ax.set_yticks(range(len(letters)), letters, fontsize=7)
        ax.set_title(method, fontsize=10, color="black")
        ax.plot(0.93, 0.9, transform=ax.transAxes, ms=9, mec="white", **METHODS[method])
    axes[0, 0].set_ylabel("who looks")
    axes[1, 0].set_ylabel("who looks")
    for ax in (axes[0, 2], *axes[1, :2]):
        ax.set_xlabel("at whom")
    axes.flat[-1].axis("off")
    fig.colorbar(axes[0, 0].images[0], ax=axes, label="weight (mean of all heads and layers)", shrink=0.6)
    back = {method: (weights * (torch.arange(len(letters))[:, None] - torch.arange(len(letters)))).sum(-1).mean().item() for method, weights in maps.items()}
    show(fig, "Attention weights of one sentence under each method, mean of heads and layers. Mean distance looked back: " + ", ".join(f"{m} {d:.1f}" for m, d in back.items()) + " characters.")


def show_race(seconds, title):
    """seconds {form: median}: as times the first one's speed."""
    first = next(iter(seconds.values()))
    fig, ax = plt.subplots(figsize=(6.4, 2.2))
    bars = ax.barh(list(seconds), [first / s for s in seconds.values()], color=[PALETTE[6], PALETTE[4], PALETTE[0]], height=0.6)
    ax.bar_label(bars, [f"{first / s:.1f}×" for s in seconds.values()], padding=4)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.15 * max(first / s for s in seconds.values())), xlabel="speed, as a multiple of the pairwise form's")
    ax.set_title(title)
    show(fig, title + ": " + ", ".join(f"{n} {first / s:.1f} times" for n, s in seconds.items()) + " the speed of the pairwise form.")


def show_layers(results, floors):
    """results {task: {layers: (loss, share right)}}, floors {task: loss of the best guesser that knows the bag alone}."""
    fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.2))
    for ax, (task, runs) in zip(axes, results.items()):
        ax.bar([str(n) for n in runs], [loss for loss, _ in runs.values()], color=METHODS["none"]["color"], width=0.55)
        for i, (loss, right) in enumerate(runs.values()):
            ax.text(i, loss + 0.02 * floors[task], f"{right:.0%} right", ha="center", va="bottom", fontsize=9)
        ax.axhline(floors[task], color=PALETTE[1], lw=1.4, ls="--")
        ax.text(2.45, floors[task] * 1.015, f"floor of one layer: {floors[task]:.2f}", ha="right", va="bottom", fontsize=9)
        ax.set(xlabel="layers", ylabel="loss (nats)", ylim=(0, 1.3 * floors[task]))
        ax.set_title(task, fontsize=10)
    fig.suptitle("A causal model without positions", fontsize=11, x=0.01, ha="left")
    show(fig, "; ".join(f"{task}: " + ", ".join(f"{n} layers {loss:.2f} nats and {right:.0%} right" for n, (loss, right) in runs.items()) + f", floor of one layer {floors[task]:.2f}" for task, runs in results.items()) + ".")


def show_probe(errors, losses):
    """errors {name: [mean error after 0, 1, ... layers]}: where the place can be read."""
    fig, ax = plt.subplots(figsize=(7, 3.3))
    words = []
    for (name, values), line, fill in zip(errors.items(), ("--", "-", ":"), ("white", METHODS["none"]["color"], "#BBBBBB")):
        ax.plot(range(len(values)), values, ls=line, ms=8, mfc=fill, **METHODS["none"], label=name + (f" (loss {losses[name]:.2f})" if name in losses else ""))
        words.append(f"{name}: " + ", ".join(f"{v:.1f}" for v in values))
    ax.set_xticks(range(len(values)), ["the rows"] + [f"layer {i}" for i in range(1, len(values))])
    ax.set(ylim=(0, None), xlim=(-0.2, len(values) - 0.8), xlabel="where the vector is taken", ylabel="error of the place read out (tokens)")
    ax.set_title("Can the place be read from a vector?")
    ax.legend(fontsize=9)
    show(fig, "Mean error of a straight-line probe for the place, from the rows on through the layers. " + "; ".join(words) + ".")


def show_published_depth():
    """NoPos beside learned positions at four sizes, and no positions past the trained length."""
    fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.3))
    sizes = ["125 M", "350 M", "760 M", "1.3 B"]
    for method, values in (("none", [22.15, 16.87, 14.29, 13.10]), ("learned", [22.04, 16.84, 14.21, 13.05]), ("ALiBi", [19.94, 15.66, 13.53, 12.51])):
        axes[0].plot(sizes, values, ms=7, label=method, **METHODS[method])
    axes[0].set(xlabel="parameters", ylabel="perplexity, in length", ylim=(10, 24))
    axes[0].set_title(f"{HAVIV} (the Pile)", fontsize=10)
    axes[0].legend(fontsize=9)
    published = PUBLISHED_DEPTH
    for method, values in published.items():
        axes[1].plot([c / 1024 for c in values], list(values.values()), ms=5, label=method, **METHODS[method])
    axes[1].set_yscale("log")
    axes[1].axvline(1, color="black", lw=1, ls="--")
    axes[1].set(xlabel="context / trained length", ylabel="perplexity, last 200 tokens")
    axes[1].set_title(f"{KAZEMNEJAD}, Table 4", fontsize=10)
    axes[1].legend(fontsize=9, loc="upper left")
    show(fig, "Published. Haviv et al.: perplexity at 125 M to 1.3 B parameters, none 22.15 to 13.10, learned 22.04 to 13.05, ALiBi 19.94 to 12.51. "
              "Kazemnejad et al., Table 4: past the trained length none holds to 1.4 times (2.87), then rises to 133 at twice; RoPE is at 175 by 1.4 times.")


PUBLISHED_DEPTH = {method: values for method, values in PUBLISHED["Kazemnejad et al. 2023, Table 4\n(trained on 1,024)"].items()}


# ======== packed for 05: the test's key, what each option means, model answers, and the pictures ========
import datetime
import json
import statistics
import textwrap

# Each option: its text, why it is right or wrong, and the step that settles it. Whatever is read here, read it after answering.
QUESTIONS = {
    1: dict(
        exercise="05.2", key="C",
        options={
            "A": ("Too little training: later on, “dog” gets another row in each of the two.",
                  "A row belongs to the token, not to the text around it. However long you train, both texts read one and the same row of “dog”.", "01.7"),
            "B": ("The ids of both texts add up to the same, and a model calculates with ids.",
                  "Ids choose rows and do nothing else; no layer adds or compares them. Number the vocabulary afresh and this search behaves as before.", "01.1"),
            "C": ("Rows ignore context, averages order; a retrieval model embeds whole texts.",
                  "A row is where a token starts in every text. A retrieval model makes one vector for a whole text; both go by the name of embedding.", "01.7 and 02.1"),
            "D": ("Token and retrieval embeddings are one thing, once rows have equal length.",
                  "Equal lengths change how much a row weighs, and both texts still average the same rows. A row for a token is not a vector for a text.", "02.1"),
        },
        twin=dict(
            ask="A help desk compares tickets by the average of their tokens' rows, out of a language model's table. “The update broke the server” and "
                "“the server broke the update” count as one and the same ticket. What would tell them apart?",
            key="B",
            options={
                "A": ("A wider table, in which each row has room to store what words come next to it.",
                      "However wide, a token has one row for every text, so the two averages still agree.", "01.7"),
                "B": ("A model trained to give one vector for a text, which reads tokens and positions.",
                      "Such a model sees the order before it condenses the text; an average of rows never does.", "02.1"),
                "C": ("A weight on each row by how rare its token is, so that telling words count more.",
                      "Same tokens, same weights, same average: the order is lost all the same.", "02.1"),
                "D": ("Longer training of the table, until the row of “server” shows the part it plays.",
                      "A row is looked up by its id alone, so it cannot depend on the part that the word plays in one sentence.", "01.2"),
            })),
    2: dict(
        exercise="05.3", key="A",
        options={
            "A": ("The same vectors come out, moved along with their tokens; the sum stays.",
                  "Shuffling before or after the layers makes no difference: that is equivariance. A sum does not care for order, and so it is invariant.", "02.3"),
            "B": ("Nothing: place 1 gives the same vector as before, since order is ignored.",
                  "That would be invariance at every place. What place 1 gives is the vector of the token that stands there now.", "02.3"),
            "C": ("Every vector changes, since each token has new neighbours to attend to.",
                  "Without positions nobody is a neighbour. Each token looks at the same set as before, and gets the same vector.", "02.3"),
            "D": ("It depends: training on real sentences makes the model sensitive to order.",
                  "No line of the proof asks what the weights are, so no training can undo it.", "02.6"),
        },
        twin=dict(
            ask="The same kind of model: no mask, no positions. Now you keep only the vector that comes out at place 1. You shuffle the input. What happens to that vector?",
            key="D",
            options={
                "A": ("It stays: the sum of all outputs stays, and the vector at place 1 is a part of that sum.",
                      "A sum can stay while its terms change places. Reading one fixed place gives the invariance away.", "02.3"),
                "B": ("It changes in any case: whichever token stands there now has got new neighbours.",
                      "Leave the token at place 1 and shuffle all others: its vector stays, since it looks at the same set.", "02.3"),
                "C": ("It stays once trained: training turns place 1 into a summary of the whole text.",
                      "Training cannot give a part to a place that the model cannot see. A special token may carry a summary, and its vector travels with it.", "02.6"),
                "D": ("It is the vector of whichever token now stands there; it stays only if that token did.",
                      "The outputs travel with their tokens, so one fixed place is not invariant: only what treats all places alike is.", "02.3"),
            })),
    3: dict(
        exercise="05.4", key="D",
        options={
            "A": ("Ten times the steps at a smaller rate, until the loss settles.",
                  "More steps bring the loss down to ln 2 and no further: an honest guess between two names costs exactly that.", "03.1"),
            "B": ("Twice the heads: one of each pair looks left, the other right.",
                  "Heads look at contents. Left and right stand neither in the input nor in the scores, so no head can tell them apart.", "02.3"),
            "C": ("Many more layers, since a deep model can rebuild the order.",
                  "With a causal mask depth does rebuild order. Without one each layer keeps the symmetry, and so does any stack of them.", "03.8"),
            "D": ("A table of position vectors, added to the token vectors.",
                  "The same name is now another input at place 1 than at place 3. The symmetry is gone, and the loss falls close to zero.", "03.4"),
        },
        twin=dict(
            ask="Again no mask and no positions, and the same sentences. The question is now: which of the two names comes first in the alphabet? "
                "What does the model need to get from guessing to almost always right?",
            key="A",
            options={
                "A": ("Nothing but training: the answer depends on which names occur, not where.",
                      "Both orders of the two names have one answer, so the set of words is enough.", "03.5"),
                "B": ("A position table: what comes first can be found by counting places only.",
                      "First in the alphabet is a fact about names. Shuffle the sentence and the answer stays.", "03.5"),
                "C": ("A causal mask: it has to read one name before it can compare the other.",
                      "Attention compares all pairs at once; there is no reading order that a mask would have to restore.", "02.4"),
                "D": ("More layers: one to read the names, one to compare them, one to answer.",
                      "The model that fails at “who bites?” answers this one with the layers that it has. It was never depth that was missing.", "03.5"),
            })),
    4: dict(
        exercise="05.5", key="B",
        options={
            "A": ("It shrinks a little: RoPE lowers the scores of tokens further out.",
                  "A price on distance is ALiBi's way, and here not even the distance changed.", "04.3"),
            "B": ("It stays: both turn by one angle, and the signed offset is as before.",
                  "The turn that both share drops out of the dot product; their contents and the signed offset remain.", "04.3"),
            "C": ("It changes: both vectors now point elsewhere than they did before.",
                  "Both do turn, by one and the same angle, so the angle between them is what it was, pair by pair.", "04.3"),
            "D": ("It stays, as it would with the key equally far on the other side.",
                  "The offset has a sign. Three before and three after turn opposite ways, and in general their scores differ.", "04.3"),
        },
        twin=dict(
            ask="A layer with RoPE again. The query stays at place 40; you move only the key, from place 37 to place 32. Contents stay. What happens to their score?",
            key="C",
            options={
                "A": ("It stays, since RoPE does not react to shifts, and a shift is all that happened.",
                      "RoPE ignores a shift that both share. Here the offset went from 3 to 8.", "04.3"),
                "B": ("It goes down, since RoPE makes a score smaller with every step of the distance.",
                      "Against the offset the score goes up and down. Nothing in RoPE makes it fall steadily.", "04.3"),
                "C": ("It changes as a rule, up or down: the offset is new, and contents decide the way.",
                      "Every pair of numbers turns by its own angle for each of the five places, and the sum may rise or fall.", "04.3"),
                "D": ("It stays, since turning keeps the length of a vector, and so the product of the two.",
                      "The lengths stay, but the angle between the two does not, and the product depends on both.", "04.2"),
            })),
    5: dict(
        exercise="05.6", key="C",
        options={
            "A": ("Rounding: the angles have become too large for float32 to hold.",
                  "At place 96 the model's cosines and sines are off by less than a millionth: far too little to matter.", "04.4"),
            "B": ("Its tables end at 24, so that later places share the last row.",
                  "They can be computed for any place. Running out of rows is the trouble of a learned table.", "04.1"),
            "C": ("It never trained on such distances; slow pairs meet new angles.",
                  "Computable everywhere is not learned everywhere: a little further is close enough, four times as far is not.", "04.6"),
            "D": ("RoPE sees offsets only; the longer texts must be harder ones.",
                  "The targets are the same 16. And offsets, too, take values there that never came up in training.", "04.6"),
        },
        twin=dict(
            ask="A learned table was trained on 24 places. It has 72 spare rows that no training text ever reached. On the same last 16 targets the loss is low with "
                "24 tokens of context and jumps with 30. Why?",
            key="B",
            options={
                "A": ("There is no row for the 25th place: the model stops with an index error.",
                      "Without spare rows that is what you would get. These exist, and run without a word of complaint.", "04.1"),
                "B": ("No gradient reached the spare rows: nothing learned to read what they add.",
                      "A row learns only when it is looked up, so the cliff stands right behind the last trained row.", "04.1"),
                "C": ("The table starts over after 24 rows, so that far places pass for early ones.",
                      "Nothing wraps unless you write it. Every spare row is its own, as it was drawn at the start.", "04.1"),
                "D": ("More tokens share the attention, so that any model of any kind gets worse.",
                      "On the same targets RoPE is as good at 30 as at 24, so the length by itself is not the cause.", "04.6"),
            })),
}
PASS = 3            # right answers of five
SURE = {"1": "guessing", "2": "fairly sure", "3": "sure"}

# The hard questions: a model answer, and what three, two, one and no points look like.
HARD = {
    "h1": dict(
        title="05.9 · Rescaling RoPE",
        answer="Two things are mixed up here: that a position can be represented, and that its use was learned. Stretching brings every angle back into the range "
               "that training covered, so nothing breaks. But no training text ever paid the model for fetching something from so far away. What it lacks is training "
               "signal at that length: texts whose next token depends on the far part. Perplexity hardly notices, since most tokens follow from their close neighbours. "
               "And the stretch has a price: in 04.11 positions squeezed by two, without retraining, make the model answer from the wrong distance. "
               "Chen et al. (2023, Table 4) show what was missing: after 200 steps of training at length, the interpolated model finds a passkey across all 8,192 tokens.",
        rubric={
            3: "Separates representable from learned; names what is missing, training signal at length; adds a cost or evidence (an own figure such as 04.11, "
               "loss and retrieval that disagree, or a short fine-tuning that closes most of the gap).",
            2: "Representable and learned are kept apart, but no cost and no evidence.",
            1: "“Out of distribution” or “needs fine-tuning”, without what is missing.",
            0: "Blames rounding or memory, or holds that rescaling is enough.",
        }),
    "h2": dict(
        title="05.10 · The mask that leaks",
        answer="A causal mask gives every place another set to look at: one token at the first, two at the second. So places are no longer alike and the symmetry is gone. "
               "In one layer output t is made from its own token and the multiset of the tokens before it. The last token therefore cannot tell two orders of its prefix "
               "apart. After that layer the earlier outputs already differ by place, so a second layer can rebuild the order from them. "
               "Positions still pay. Rebuilding takes depth, training and tokens that differ: in 03.8 one layer stays near its floor. At scale the gap becomes small "
               "(Haviv et al. 2022, Table 1, the Pile: perplexity 13.10 without, 13.05 with learned positions); in our two layers on the language of 04 it is large.",
        rubric={
            3: "The mask gives each place another set, so the symmetry is gone; one layer knows its own token and the multiset before it; from two layers on order can be "
               "rebuilt; and positions still help where depth or training is short, with a figure (own, or NoPos).",
            2: "Mask and depth are explained, but the limit of one layer or the use of positions is missing.",
            1: "“The mask shows what came before”, and no difference between one layer and two.",
            0: "The mask is said to number the tokens, or the result is called a mistake.",
        }),
    "h3": dict(
        title="05.11 · The ruler",
        answer="The average may hide the collapse. Of 128 positions the first 32 have no more context than in training, and the next few not much more, so good early positions cover for bad "
               "late ones. Also a longer window gives more context on average, so a mean over all places gets easier by itself. I would fix the targets: the same texts, "
               "their last 16 tokens, given the last 32, 40, 64, 96 and 128 tokens. Beside it belong the loss at 32, the baseline of cropping to the last 32 tokens (a "
               "model worse than that would do better to forget), at least three seeds, several thousand targets so that the sampling error is small, a word on what the "
               "learned model does past its table, and one task that cannot be solved without a far token.",
        rubric={
            3: "Fixes the targets (same text, same last k, growing context) and adds at least three of: the loss at trained length; several seeds; the cropping baseline; "
               "enough targets for the sampling error; the learned model's fallback named; a task that needs the far token.",
            2: "Fixed targets, and one or two of those.",
            1: "Sees that an average hides something, but offers only more data or another metric.",
            0: "Accepts the claim, or compares different texts at different lengths.",
        }),
    "h4": dict(
        title="05.12 · Ten million parameters",
        answer="50,257 × 256 = 12.9 M is over budget before the first layer. Options: 8,192 tokens give 2.1 M; bytes 256 × 256 = 0.07 M; a table factorised through 64 "
               "numbers 50,257 × 64 + 64 × 256 = 3.2 M; and an untied head would cost each of them once more. I take 8,192 tokens, tied, and RoPE, which has no parameters of its "
               "own. A layer has 12 · 256² = 0.79 M, so ten layers make 7.9 M, together 9.96 M (norms and biases add about 0.02 M). The price: fewer tokens in the vocabulary mean longer "
               "sequences, so less text in one context and far words still further away; bytes would be worst in that. Tying asks one table to be read from and to be "
               "predicted with, and wants small rows at the start. The factorised table keeps the long vocabulary, but its rows live in 64 dimensions.",
        rubric={
            3: "Right arithmetic for at least two of: smaller vocabulary, tying, factorised table, bytes; names the cost of each one used (longer sequences, harder far "
               "dependencies, one table with two jobs and its init, a rank limit); chooses and defends.",
            2: "The arithmetic is right; costs are named for one saving only.",
            1: "“A smaller vocabulary” or “tie them”, without numbers or without a cost.",
            0: "Cuts the depth and leaves the table alone, or miscounts by a factor of ten.",
        }),
}


def letters_in(names, stem):
    """-> {question: its letter in capitals; None where unanswered; a message where it is no option}. Only reads."""
    import check
    found = {}
    for n in QUESTIONS:
        try:
            found[n] = check.choice(names.get(f"{stem}_{n}", ""))
        except check.NotAttempted:
            found[n] = None
        except check.Failed as error:
            found[n] = error
        except Exception:       # something that cannot even be compared or printed
            found[n] = check.Failed("one letter, A, B, C or D, in quotes", "something else")
    return found


def sureness(names):
    """-> {question: 1, 2 or 3; 0 where not rated}."""
    rated = {n: str(names.get(f"sure_{n}", "")).strip() for n in QUESTIONS}
    return {n: int(s) if s in SURE else 0 for n, s in rated.items()}


def is_right(n, letter):
    return letter == QUESTIONS[n]["key"]


def feedback(names):
    """Say for each answer what the chosen option means, sure but wrong first; notes the states for the summary."""
    import check
    letters, sure = letters_in(names, "answer"), sureness(names)
    given = [n for n in letters if isinstance(letters[n], str)]
    for n in letters:
        check.states[QUESTIONS[n]["exercise"]] = (
            "Not attempted yet" if letters[n] is None else "Right" if n in given and is_right(n, letters[n]) else "Not yet right")
    for n in letters:
        if isinstance(letters[n], check.Failed):
            check.show(check.Panel("Not an option", f"{QUESTIONS[n]['exercise']} · question {n}", letters[n].parts))
    for n in sorted(given, key=lambda n: (is_right(n, letters[n]), -sure[n] if not is_right(n, letters[n]) else sure[n] or 9)):
        text, why, step = QUESTIONS[n]["options"][letters[n]]
        right = is_right(n, letters[n])
        parts = {"You chose": f"{letters[n]}. {text}", "Because" if right else "But": why, "Look at": step}
        if right and sure[n] == 1:
            parts["You said"] = "guessing. It was right; is the reason the one that you had in mind?"
        check.show(check.Panel("Right" if right else "Sure, but not so" if sure[n] == 3 else "Not so", f"{QUESTIONS[n]['exercise']} · question {n}", parts))
    show_confidence(letters, sure)
    missing = [n for n in letters if n not in given]
    if missing:
        print(f"Still to answer: {', '.join(f'question {n}' for n in missing)}. Then run this cell again.")
    right = sum(is_right(n, letters[n]) for n in given)
    if not given:
        print("Nothing is answered yet, so there is nothing to say yet.")
    elif right >= PASS:
        print(f"{right} of {len(letters)} right. Passed: {PASS} were needed.")
    else:
        print(f"{right} of {len(letters)} right. Not passed {'yet' if missing else 'at this try'}: {PASS} are needed.")


def show_confidence(letters, sure):
    """Each question by how sure its answer was, right or wrong."""
    given = [n for n in letters if isinstance(letters[n], str)]
    if not given:
        return
    fig, ax = plt.subplots(figsize=(7, 2.9))
    ax.axhspan(2.5, 3.5, color="#F3EEE6", zorder=0)
    ax.text(5.55, 3.42, "sure: a cross up here\nteaches the most", ha="left", va="top", fontsize=9, color="#444444")
    for n in given:
        right = is_right(n, letters[n])
        ax.plot(n, sure[n], marker="o" if right else "X", ms=17, color=METHODS["ALiBi" if right else "learned"]["color"], mec="white", zorder=3)
        ax.annotate(letters[n], (n, sure[n]), (13, -4), textcoords="offset points", fontsize=11)
    for right, marker, colour in ((True, "o", METHODS["ALiBi"]["color"]), (False, "X", METHODS["learned"]["color"])):
        ax.plot([], [], marker, ms=10, color=colour, mec="white", label="right" if right else "not right")
    ax.legend(loc="lower left", bbox_to_anchor=(1.0, -0.03), handletextpad=0.2)
    low = 0 if any(sure[n] == 0 for n in given) else 1
    ax.set(xlim=(0.5, 5.5), ylim=(low - 0.5, 3.5), xticks=list(QUESTIONS), xticklabels=[f"question {n}" for n in QUESTIONS], ylabel="how sure",
           yticks=range(low, 4), yticklabels=["not rated", "1 guessing", "2 fairly", "3 sure"][low:], title="What you chose, and how sure you were")
    ax.tick_params(length=0)
    said = "; ".join(f"question {n}: {letters[n]}, {'right' if is_right(n, letters[n]) else 'not right'}, {SURE.get(str(sure[n]), 'not rated')}" for n in given)
    show(fig, f"Answers by confidence. {said}.")


def to_repeat(names):
    """-> the questions that were answered, and not rightly."""
    letters = letters_in(names, "answer")
    return [n for n in letters if isinstance(letters[n], str) and not is_right(n, letters[n])]


def twins(names):
    """Print the second-try question for each one that went wrong."""
    import check
    wrong = to_repeat(names)
    for n in wrong:
        twin = QUESTIONS[n]["twin"]
        check.show(check.Panel("To read", f"Second try · question {n}, another case", {"": twin["ask"], **{k: option[0] for k, option in twin["options"].items()}}))
    if wrong:
        print(f"Answer below: {', '.join(f'again_{n}' for n in wrong)}.")
    elif any(isinstance(letter, str) for letter in letters_in(names, "answer").values()):
        print("None of your answers is wrong, so there is no second try to make.")
    else:
        print("The questions of a second try appear here once an answer went wrong.")


def tally(names):
    """-> (right at the first try, right with the second try counted too; None where none was made)."""
    first, again, wrong = letters_in(names, "answer"), letters_in(names, "again"), to_repeat(names)
    right = sum(is_right(n, letter) for n, letter in first.items())
    tried = [n for n in wrong if isinstance(again[n], str)]
    return right, right + sum(again[n] == QUESTIONS[n]["twin"]["key"] for n in tried) if tried else None


def second_look(names):
    """Feedback on the second try."""
    import check
    letters, (_, total) = letters_in(names, "again"), tally(names)
    for n in to_repeat(names):
        if letters[n] is None:
            continue
        if isinstance(letters[n], check.Failed):
            check.show(check.Panel("Not an option", f"again_{n}", letters[n].parts))
            continue
        text, why, step = QUESTIONS[n]["twin"]["options"][letters[n]]
        right = letters[n] == QUESTIONS[n]["twin"]["key"]
        check.show(check.Panel("Right" if right else "Not so", f"again_{n}", {"You chose": f"{letters[n]}. {text}", "Because" if right else "But": why, "Look at": step}))
    if total is not None:
        print(f"With the second try {total} of {len(letters)} right. {'Passed' if total >= PASS else 'Not passed yet'}: {PASS} are needed. The points stay those of your first answers.")
    else:
        print("No second try yet, and none is needed if you passed.")


def other_options(names):
    """Look at the options that you did not choose, of the questions that you answered. With sliders and menus where there are any."""
    letters = {n: letter for n, letter in letters_in(names, "answer").items() if isinstance(letter, str)}
    if not letters:
        print("This opens once you have answered a question.")
        return

    def tell(question, option):
        text, why, step = QUESTIONS[question]["options"][option]
        verdict = "Right" if is_right(question, option) else "Not so"
        print(textwrap.fill(f"Question {question}, {option}. {text}", 88), textwrap.fill(f"{verdict}: {why} ({step})", 88), "", sep="\n")

    try:
        import ipywidgets
        from IPython.display import display
        question = ipywidgets.Dropdown(options=[(f"question {n}", n) for n in letters], description="Look at")
        option = ipywidgets.ToggleButtons(options=list("ABCD"), description="option")
        option.style.button_width = "3em"
        display(ipywidgets.VBox([question, option, ipywidgets.interactive_output(tell, dict(question=question, option=option))]))
    except ImportError:
        for n in letters:
            for option in "ABCD":
                tell(n, option)


def reveal(which, names, lines=4):
    """Show the model answer and the rubric of a hard question, once enough lines stand in the student's own."""
    import check
    hard, text = HARD[which], names.get(f"answer_{which}", "")
    if not isinstance(text, str):
        print(f"answer_{which} should be text between triple quotes. Put them back, run your cell and then this one.")
        return
    written = sum(max(1, len(line.strip()) // 80) for line in text.splitlines() if len(line.strip()) >= 8)   # a long paragraph on one line counts as several
    if written < lines:
        print(f"{hard['title']}: {written or 'no'} line{'' if written == 1 else 's'} of more than a word so far. Write at least {lines}, run your cell and then this one: the model answer opens then.")
        return
    check.show(check.Panel("To read", f"{hard['title']} · a model answer", {"": hard["answer"]}))
    check.show(check.Panel("To read", f"{hard['title']} · mark yourself", {f"☐ {points}": says for points, says in hard["rubric"].items()} | {"Then": "Which sentence would you add to yours?"}))


# ---------------------------------------------------------------- where position gets in

def show_hooks(recall=None):
    """A token's way through a layer and the three places where position can get in; with the methods once `recall` is written."""
    blank = recall is None
    if not blank and not str(recall).strip():
        print("Write one line in the cell above first, however rough. The names appear in the drawing then.")
        return
    fig, ax = plt.subplots(figsize=(7, 3.2 if blank else 4.3))
    ax.set(xlim=(0, 14), ylim=(0.2 if blank else -1.1, 6.6 if blank else 7.2), title="Where can position get in?" if blank else "Where position gets in")
    ax.axis("off")
    ink, soft = "#222222", "#8A8A8A"

    def box(x, y, w, h, text, **style):
        ax.add_patch(plt.Rectangle((x, y), w, h, **{"fc": "white", "ec": ink, "lw": 1.3, "zorder": 2, **style}))
        ax.text(x + w / 2, y + h / 2, text, ha="center", va="center", fontsize=9.5, zorder=4)

    def arrow(a, b, bend="", **style):
        ax.annotate("", b, a, arrowprops={"arrowstyle": "-|>", "color": ink, "lw": 1.3, "shrinkA": 0, "shrinkB": 0, **({"connectionstyle": bend} if bend else {}), **style}, zorder=3)

    ax.add_patch(plt.Rectangle((4.55, 0.25), 9.2, 4.05, fc="#F3EEE6", ec="none", zorder=0))
    ax.text(4.7, 0.4, "one layer (the next ones are built alike)", fontsize=9, color="#555555", va="bottom")
    box(0.1, 2.5, 1.9, 1.1, "row of the\ntoken table")
    box(3.35, 2.5, 0.75, 1.1, "+")
    box(5.1, 2.5, 1.2, 1.1, "q, k")
    box(7.95, 2.5, 1.3, 1.1, "q · k\nscores")
    box(10.55, 2.5, 1.3, 1.1, "softmax")
    box(5.1, 0.95, 1.2, 0.85, "v")
    box(12.5, 2.5, 1.05, 1.1, "mix")
    arrow((2.0, 3.05), (3.35, 3.05))
    arrow((4.1, 3.05), (5.1, 3.05))
    arrow((4.35, 3.05), (5.1, 1.38), "angle,angleA=-90,angleB=180,rad=0")
    arrow((6.3, 3.05), (7.95, 3.05))
    arrow((9.25, 3.05), (10.55, 3.05))
    arrow((11.85, 3.05), (12.5, 3.05))
    arrow((6.3, 1.38), (13.02, 2.5), "angle,angleA=0,angleB=90,rad=0")
    places = {1: (3.72, 3.6, "added once,\nat the bottom", ("learned", "sinusoidal")),
              2: (7.12, 3.05, "turns q and k,\nin every layer", ("RoPE",)),
              3: (9.9, 3.05, "added to the scores,\nin every layer", ("ALiBi",))}
    for n, (x, y, what, methods) in places.items():
        arrow((x, 5.0), (x, y), color=soft if blank else ink, linestyle="--" if blank else "-")
        ax.text(x, 5.25, str(n), ha="center", va="center", fontsize=11, color="white", weight="bold", zorder=5, bbox=dict(boxstyle="circle,pad=0.25", fc=ink, ec="none"))
        if blank:
            ax.text(x, 6.15, "?", ha="center", va="center", fontsize=15, color=soft)
            continue
        ax.text(x + 0.45, 5.2, what, ha="left", va="center", fontsize=9, color="#333333")
        for i, method in enumerate(methods):
            style = METHODS[method]
            ax.plot(x - 0.05, 6.15 + 0.62 * i, marker=style["marker"], color=style["color"], ms=9, zorder=5)
            ax.text(x + 0.45, 6.13 + 0.62 * i, method, va="center", fontsize=11, weight="bold")
    if blank:
        show(fig, "A token's row, then a plus (place 1), then q and k (place 2 on their way to the scores), the scores (place 3 on their way to the softmax), softmax, and the mix "
                  "with v. Which method acts at which place?")
        return
    ax.text(0.1, -0.2, textwrap.fill("You wrote: " + textwrap.shorten(str(recall), 170, placeholder=" …"), 95), fontsize=9.5, va="top")
    show(fig, "Place 1, embed: learned and sinusoidal tables are added to the vector, once, at the bottom. Place 2, rotate: RoPE turns q and k in every layer. "
              "Place 3, bias: ALiBi is added to the scores in every layer. v is left alone by all of them.")


# ---------------------------------------------------------------- the result card

# What each notebook asks for: core exercises, then deeper ones. Stars are the three criteria.
EXERCISES = {"01": ("2 3 4 5 6", "8 9 10 11"), "02": ("2 3 4 5 6", "7 8 9"), "03": ("1 2 4 5 6", "7 9 10"), "04": ("2 4 5 6", "7 8 9 10 11"), "05": ("2 3 4 5 6", "")}
CRITERIA = {"03.4": ("gap", "with and without positions"), "02.5": ("invariance", "a detector for unseen layers"), "04.6": ("extrapolation", "RoPE further than learned")}


def read_records(text):
    """-> ({notebook: record}, [what could not be read]); whatever can be read is kept."""
    if not isinstance(text, str):
        return {}, ["records should be text between triple quotes, like r\"\"\" and \"\"\" with the lines between them."]
    text = text.strip()
    found, problems, others, at, decoder = {}, [], False, 0, json.JSONDecoder(strict=False)
    while (at := text.find("{", at)) >= 0:
        try:
            record, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            record, end = None, text.find("\n", at) if "\n" in text[at:] else len(text)
        if isinstance(record, dict) and str(record.get("notebook", "")).zfill(2) in EXERCISES:
            found[str(record["notebook"]).zfill(2)] = record
        elif isinstance(record, dict) and "notebook" in record:
            others = True       # a record of another notebook is left aside without a word
        else:
            problems.append(f"Line {text.count(chr(10), 0, at) + 1} of what you pasted is not a whole record: {textwrap.shorten(text[at:end], 48, placeholder=' …')}")
        at = end
    if text and not (found or problems or others):
        problems.append('No record found in what you pasted. A record is a line that begins with {"notebook": and ends with }.')
    return found, problems


def reach_curves(reach):
    """-> {method: [{context: loss}, ...]}, one dict a seed, from whatever shape the record has: losses by context, one for all seeds or a list."""
    def number(x):
        try:
            return float(x) if math.isfinite(float(x)) else None
        except (TypeError, ValueError):
            return None

    def one(points):
        points = points.items() if isinstance(points, dict) else [p for p in points if isinstance(p, (list, tuple)) and len(p) == 2]
        columns = [(number(c), [number(v) for v in (loss if isinstance(loss, list) else [loss])]) for c, loss in points]
        columns = sorted((c, v) for c, v in columns if c is not None and c > 0 and v and None not in v)
        return [{c: v[i] for c, v in columns if i < len(v)} for i in range(max((len(v) for _, v in columns), default=0))]

    curves = {}
    for method, points in (reach.items() if isinstance(reach, dict) else ()):
        name = next((m for m in METHODS if m.lower() == str(method).lower()), str(method)[:20])
        parts = points if isinstance(points, list) and points and all(isinstance(p, dict) for p in points) else [points] if isinstance(points, (dict, list)) else []
        lines = [line for part in parts for line in one(part) if line]
        if lines:
            curves[name] = lines
    return curves


def show_card(records, names):
    """The result card: lamps, exercises, own wrong guesses, own reach curve. Nothing here counts for points."""
    found, problems = read_records(records)
    for problem in problems:
        print(problem)
    if problems:
        print("Copy the whole line from the end of that notebook. All that could be read is on the card.\n")
    known = {f"{nb}.{k}" for nb, groups in EXERCISES.items() for k in " ".join(groups).split()}
    right = {e for nb, r in found.items() if isinstance(r.get("right"), list) for e in (str(x).split(" ")[0] for x in r["right"]) if e in known and e.startswith(nb)}
    letters, sure = letters_in(names, "answer"), sureness(names)
    answered = [n for n in letters if isinstance(letters[n], str)]
    if answered:    # of this notebook the card knows more than any record
        right = {e for e in right if not e.startswith("05.")} | {QUESTIONS[n]["exercise"] for n in answered if is_right(n, letters[n])}
    guesses = {str(s): g for r in found.values() for s, g in (r.get("guesses").items() if isinstance(r.get("guesses"), dict) else ()) if isinstance(g, list) and len(g) == 2}
    otherwise = [(s, *map(str, g)) for s, g in sorted(guesses.items()) if g[0] != g[1]]
    last = found.get("04", {})
    curves, seeds = reach_curves(last.get("reach")), last.get("seeds")
    here = [nb for nb in EXERCISES if nb in found or (nb == "05" and answered)]
    today = datetime.date.today().isoformat()

    fig = plt.figure(figsize=(7, 6.6))
    grid = fig.add_gridspec(3, 2, height_ratios=[1.25, 2.9, 1.35], width_ratios=[1, 1.15])
    fig.suptitle(f"Embeddings and position · what stayed · {today}", x=0.01, ha="left", fontsize=13, weight="bold")

    ax = fig.add_subplot(grid[0, :])
    ax.set(xlim=(0, 3), ylim=(0, 1))
    ax.axis("off")
    for i, (exercise, (name, means)) in enumerate(CRITERIA.items()):
        on = exercise in right
        ax.plot(i + 0.11, 0.5, "o", ms=27, color="#E69F00" if on else "white", mec="#555555", mew=1.5)
        ax.text(i + 0.11, 0.48, "✓" if on else "", ha="center", va="center", fontsize=16)
        ax.text(i + 0.23, 0.55, name, fontsize=11.5, weight="bold", va="bottom")
        ax.text(i + 0.23, 0.48, textwrap.fill(means if on else f"still dark: {exercise}", 24), fontsize=8.5, va="top", color="#444444")

    ax = fig.add_subplot(grid[1, 0])
    ax.set(xlim=(-1.6, 10.2), ylim=(4.8, -1.1), title="Exercises right")
    ax.axis("off")
    for row, (nb, (core, deeper)) in enumerate(EXERCISES.items()):
        ax.text(-1.5, row, nb, va="center", fontsize=10.5, weight="bold")
        done = [f"{nb}.{k}" in right for k in core.split() + deeper.split()]
        for i, (k, yes) in enumerate(zip(core.split() + deeper.split(), done)):
            x, star = i if i < len(core.split()) else 5.6 + i - len(core.split()), f"{nb}.{k}" in CRITERIA
            ax.plot(x, row, "*" if star else "s", ms=17 if star else 12, color="#0072B2" if yes else "white", mec="#0072B2" if nb in here else "#AAAAAA", mew=1.2)
        if nb not in here:
            ax.text(-0.35, row + 0.47, "no record yet" if nb != "05" else "not answered yet", fontsize=7.5, color="#666666", va="center")
    ax.text(-0.3, -0.85, "core", fontsize=8.5, color="#444444")
    ax.text(5.3, -0.85, "deeper", fontsize=8.5, color="#444444")

    ax = fig.add_subplot(grid[1, 1])
    if curves:
        for method, lines in curves.items():
            style = METHODS.get(method, METHODS["none"])
            contexts = sorted({c for line in lines for c in line})
            values = [[line[c] for line in lines if c in line] for c in contexts]
            middle = [statistics.median(v) for v in values]
            ax.plot(contexts, middle, label=f"{method}", color=style["color"], marker=style["marker"], ms=5, lw=1.6)
            if len(lines) > 1:
                ax.fill_between(contexts, [min(v) for v in values], [max(v) for v in values], color=style["color"], alpha=0.15, lw=0)
        contexts = sorted({c for lines in curves.values() for line in lines for c in line})
        trained = last.get("trained", last.get("trained_len"))
        trained = trained if type(trained) in (int, float) and trained > 0 else 24 if 24 in contexts else None     # 04 trains on 24
        runs = max(len(lines) for lines in curves.values())
        said = ("seeds " + ", ".join(map(str, seeds)) if isinstance(seeds, list) and seeds else f"seed {seeds}" if type(seeds) is int
                else f"{runs} seeds, median and range" if runs > 1 else "")
        ax.set_xscale("log", base=2)
        keep = [c for i, c in enumerate(contexts) if i == 0 or not any(c / d < 1.3 for d in contexts[max(0, i - 1):i])]
        ax.set_xticks(keep, [f"{c:g}" for c in keep])
        ax.minorticks_off()
        ax.set(xlabel="context (tokens)", ylabel="loss (nats)", title="My reach curve\n")
        ax.set_ylim(bottom=0)
        if trained:
            ax.axvline(trained, color="#888888", ls=":", lw=1.2)
            ax.text(0.0, 1.0, f"trained on {trained:g} tokens", transform=ax.transAxes, ha="left", va="bottom", fontsize=8.5, color="#444444")
        ax.legend(fontsize=8.5, loc="best")
        ax.text(1.0, 1.0, textwrap.shorten(said, 30, placeholder=" …"), transform=ax.transAxes, ha="right", va="bottom", fontsize=8.5, color="#444444")
    else:
        ax.axis("off")
        ax.set_title("My reach curve")
        ax.text(0.5, 0.55, "appears with the record of 04" if "04" not in found else "the record of 04 holds none yet:\nit comes with 04.6", ha="center", va="center", fontsize=9.5, color="#666666", transform=ax.transAxes)

    ax = fig.add_subplot(grid[2, :])
    ax.axis("off")
    score, total = tally(names)
    verdict = f"{score} of 5 at the first try" + ("" if total is None else f", {total} with the second") + (", passed" if max(score, total or 0) >= PASS else ", not passed yet")
    surprises = [f"question {n}" for n in answered if sure[n] == 3 and not is_right(n, letters[n])]
    lines = [("Lesson test", verdict if answered else "not answered yet")]
    if surprises:
        lines.append(("Sure, but not so", ", ".join(surprises)))
    came = ", ".join(f"{s}\u00a0({a[:6]}\u00a0→\u00a0{b[:6]})" for s, a, b in otherwise[:12]) + (f" and {len(otherwise) - 12} more" if len(otherwise) > 12 else "")
    lines.append(("Guesses that came out otherwise", came or ("none of those on record" if guesses else "none on record yet")))
    y = 1.0
    for head, text in lines:
        text = textwrap.fill(text, 88)
        ax.text(0, y, head, fontsize=9.5, weight="bold", va="top", transform=ax.transAxes)
        ax.text(0, y - 0.17, text, fontsize=9.5, va="top", transform=ax.transAxes, linespacing=1.25)
        y -= 0.19 + 0.2 * (text.count("\n") + 1)
    lamps = ", ".join(f"{name} {'on' if e in right else 'off'}" for e, (name, _) in CRITERIA.items())
    reached = "; ".join(f"{m} from {lines[0][min(lines[0])]:.2f} at {min(lines[0]):g} to {lines[0][max(lines[0])]:.2f} at {max(lines[0]):g} tokens" for m, lines in curves.items())
    show(fig, f"Result card of {today}. Lamps: {lamps}. Exercises right: {len(right)} of {len(known)}. Records of {', '.join(here) or 'no notebook'}. "
              f"Reach curve: {reached or 'none'}. Guesses otherwise: {', '.join(s for s, *_ in otherwise) or 'none'}.")
