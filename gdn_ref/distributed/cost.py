"""What each exchange sends and how long it takes, and which one is taken: the cheapest, by size.

A state has s bytes, the F of a map f, and a message takes a latency and its bytes over the
bandwidth. Times are counted in bytes: what a link could have sent. With R ranks, a sequence over
all of them and the latency a, the last rank has its state after (eq-exchange-times)

    ring         (R - 1) (a + s)
    all-gather   a ceil(log2 R) + (R - 1) (s + f)
    tree         ceil(log2 R) (a + s) + (ceil(log2 R) - 1) f

At two ranks ring and tree are one message, at three the ring is cheaper, by f. With more ranks the
tree is, as soon as the R - 1 - ceil(log2 R) latencies and states that it saves take longer than an
F in each round but the last.

In a packed batch the longest chain counts and not the number of ranks, for chains side by side do
not wait for each other: where no sequence lies on more than two ranks the ring is one message. With
zig-zag shards a rank has two pieces of a sequence. That is a round more for the tree, and at most
two maps a round, so that for small states the gather is cheapest.
"""

LATENCY_BYTES = 2**21  # what goes over a link in the time of a latency (10 us at 200 GB/s)


def chosen(ctx, s, f):
    """The exchange that the context names, or the one of least cost; `s` and `f` in bytes."""
    if ctx.exchange != "auto":
        return ctx.exchange
    found = costs(ctx, s, f)
    return min(found, key=found.get)


def costs(ctx, s, f, latency=LATENCY_BYTES):
    """Time until the last state is there, by each exchange, in bytes of a link."""
    crossings = max((crossed(chain) for chain in ctx.chains), default=0)
    steps, room = rounds(max(map(len, ctx.chains), default=1)), widest(ctx)
    tree = steps * (latency + room * s) + max(steps - 1, 0) * room * f
    gather = rounds(ctx.ranks) * latency + (ctx.ranks - 1) * room * (s + f)
    return {"ring": crossings * (latency + s), "tree": tree, "all_gather": gather}


def rounds(n):
    """How often 1 must be doubled to reach n."""
    return (n - 1).bit_length()


def crossed(chain):
    """Borders between ranks in a chain."""
    return sum(p.rank != p.after.rank for p in chain[:-1])


def widest(ctx, reverse=False):
    """The most pieces of one rank that hand something on: one a shard."""
    _, after = neighbours(reverse)
    counts = [0] * ctx.ranks
    for chain in ctx.chains:
        for piece in chain:
            counts[piece.rank] += after(piece) is not None
    return max(counts)


def neighbours(reverse):
    """The pieces before and after a piece, in the direction of the scan."""
    before, after = (lambda p: p.before), (lambda p: p.after)
    return (after, before) if reverse else (before, after)


def balanced(T, ranks, beyond, chunk=64):
    """Lengths of the shards of one sequence, so that the parts of all ranks take equally long.

    `beyond` is what a token costs another rank more than the first one, which computes no map, in
    parts of what it costs that (eq-shard-speedup). Whole chunks; the rest is the first rank's, too.
    Forward. Backward no rank computes more than its share, and equal shards are best.
    """
    other = int(T / (ranks + beyond)) // chunk * chunk
    return [T - (ranks - 1) * other] + [other] * (ranks - 1)


def tree_rounds(ctx, reverse):
    """Messages `(source, target, is_state)` of each round, from piece to piece, each twice as far.

    What the first pieces of a chain send begins with the chain, and so is a state and no map.
    """
    chains = [chain[::-1] for chain in ctx.chains] if reverse else ctx.chains
    far, longest = 1, max(map(len, chains), default=1)
    while far < longest:
        yield [
            (source, target, n < far)
            for chain in chains
            for n, (source, target) in enumerate(zip(chain, chain[far:], strict=False))
        ]
        far *= 2


def bytes_of_pass(ctx, HV, K, V, itemsize, reverse=False):
    """The bytes that this rank sends in one pass: what `bytes_sent` must grow by."""
    s, f = (HV * K * n * itemsize for n in (V, K))
    how, (_, after) = chosen(ctx, s, f), neighbours(reverse)
    if how == "ring":
        return s * sum(after(p) is not None and after(p).rank != ctx.rank for p in ctx.mine)
    if how == "all_gather":
        return (ctx.ranks - 1) * widest(ctx, reverse) * (s + f)
    return sum(
        s if is_state else s + f
        for messages in tree_rounds(ctx, reverse)
        for source, target, is_state in messages
        if source.rank == ctx.rank != target.rank
    )
