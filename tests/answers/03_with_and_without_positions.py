# Wrong and unusual right answers to notebook 03. Each replaces one solution cell; the notebook's other cells stay as they are.
#   #%% wrong CELL name [loses=graded cells, default test_CELL] [may=graded cells that can fail as a consequence]
#   #%% right CELL name

#%% wrong order_free_floor stub
def order_free_floor(n_candidates):
    raise NotImplementedError("write your code here")

#%% wrong order_free_floor bits
def order_free_floor(n_candidates):
    return math.log2(n_candidates)

#%% wrong order_free_floor probability
def order_free_floor(n_candidates):
    return 1 / n_candidates

#%% wrong order_free_floor always_ln_2
def order_free_floor(n_candidates):
    return math.log(2)

#%% wrong order_free_floor zero
def order_free_floor(n_candidates):
    return 0.0

#%% wrong order_free_floor one_fewer
def order_free_floor(n_candidates):
    return math.log(max(n_candidates - 1, 1))

#%% wrong order_free_floor negative
def order_free_floor(n_candidates):
    return math.log(1 / n_candidates)

#%% wrong order_free_floor all_ten_names
def order_free_floor(n_candidates):
    return math.log(10)

#%% wrong order_free_floor as_text
def order_free_floor(n_candidates):
    return f"{math.log(n_candidates):.4f}"

#%% wrong order_free_floor prints_only
def order_free_floor(n_candidates):
    print(math.log(n_candidates))

#%% right order_free_floor torch_log
def order_free_floor(n_candidates):
    return -torch.log(torch.tensor(1 / n_candidates))

#%% right order_free_floor entropy_of_a_fair_die
def order_free_floor(n_candidates):
    p = torch.full((n_candidates,), 1 / n_candidates, dtype=torch.float64)
    return -(p * p.log()).sum().item()

#%% right order_free_floor numpy_number
def order_free_floor(n_candidates):
    import numpy as np
    print("candidates:", n_candidates)
    return np.log(n_candidates)

#%% right order_free_floor cross_entropy_of_even_logits
order_free_floor = lambda n: F.cross_entropy(torch.zeros(1, n), torch.tensor([0]))

#%% wrong order_free_floor decimal_logarithm
def order_free_floor(n_candidates):
    return math.log10(n_candidates)

#%% wrong order_free_floor perplexity
def order_free_floor(n_candidates):
    return float(n_candidates)

#%% wrong order_free_floor loss_of_a_sure_guess
def order_free_floor(n_candidates):
    return -math.log(1 - 1 / n_candidates) if n_candidates > 1 else 0.0

#%% wrong LearnedPosition stub loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        raise NotImplementedError("write your code here")

    def embed(self, x):
        raise NotImplementedError("write your code here")

#%% wrong LearnedPosition indexed_by_batch loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        return x + self.table[torch.arange(x.shape[0]) % len(self.table)][:, None]

#%% wrong LearnedPosition sliced_by_batch loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        return x + self.table[:len(x)]

#%% wrong LearnedPosition plain_tensor loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = 0.02 * torch.randn(max_len, d_model)

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x + self.table[:x.shape[1]]

#%% wrong LearnedPosition buffer loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.register_buffer("table", 0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x + self.table[:x.shape[1]]

#%% wrong LearnedPosition frozen_parameter loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model), requires_grad=False)

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x + self.table[:x.shape[1]]

#%% wrong LearnedPosition overwrites loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return self.table[:x.shape[1]].expand(x.shape)

#%% wrong LearnedPosition only_in_training loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x + self.table[:x.shape[1]] if self.training else x

#%% wrong LearnedPosition added_after_pooling loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        return x.mean(1, keepdim=True) + self.table[:x.shape[1]]

#%% wrong LearnedPosition one_row_for_all loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x + self.table[x.shape[1] - 1]

#%% wrong LearnedPosition from_one_with_a_spare_row loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len + 1, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table) - 1:
            raise IndexError("too long")
        return x + self.table[1:x.shape[1] + 1]

#%% wrong LearnedPosition from_one loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        return x + self.table[torch.arange(1, x.shape[1] + 1)]

#%% wrong LearnedPosition from_the_end loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x + self.table[-x.shape[1]:]

#%% wrong LearnedPosition clamps loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        return x + self.table[torch.arange(x.shape[1]).clamp(max=len(self.table) - 1)]

#%% wrong LearnedPosition wraps loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        return x + self.table[torch.arange(x.shape[1]) % len(self.table)]

#%% wrong LearnedPosition nothing_past_the_end loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        n = min(x.shape[1], len(self.table))
        return torch.cat([x[:, :n] + self.table[:n], x[:, n:]], dim=1)

#%% wrong LearnedPosition refuses_the_last_row loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] >= len(self.table):
            raise IndexError("too long")
        return x + self.table[:x.shape[1]]

#%% wrong LearnedPosition detached loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x + self.table.detach()[:x.shape[1]]

#%% wrong LearnedPosition under_no_grad loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    @torch.no_grad()
    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x + self.table[:x.shape[1]]

#%% wrong LearnedPosition in_place_on_the_input loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        x += self.table[:x.shape[1]]
        return x

#%% wrong LearnedPosition scales_the_tokens loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x * x.shape[-1] ** 0.5 + self.table[:x.shape[1]]

#%% wrong LearnedPosition scales_the_rows loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x + self.table[:x.shape[1]] / len(self.table)

#%% wrong LearnedPosition multiplies loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x * self.table[:x.shape[1]]

#%% wrong LearnedPosition one_number_for_each_place loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, 1))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return x + self.table[:x.shape[1]]

#%% wrong LearnedPosition forward_in_place_of_embed loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def forward(self, x):
        return x + self.table[:x.shape[1]]

#%% wrong LearnedPosition new_rows_in_every_call loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.max_len = max_len

    def embed(self, x):
        if x.shape[1] > self.max_len:
            raise IndexError("too long")
        return x + nn.Parameter(0.02 * torch.randn(self.max_len, x.shape[2]))[:x.shape[1]]

#%% wrong LearnedPosition only_full_length loses=test_learned_position
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        return x + self.table

#%% wrong LearnedPosition first_text_only loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        return torch.cat([x[:1] + self.table[:x.shape[1]], x[1:]])

#%% wrong LearnedPosition starts_at_a_random_place loses=test_learned_position may=gap
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def embed(self, x):
        if x.shape[1] > len(self.table):
            raise IndexError("too long")
        start = int(torch.randint(len(self.table) - x.shape[1] + 1, ()))
        return x + self.table[start:start + x.shape[1]]

#%% right LearnedPosition natural_index_error
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.rows = nn.Parameter(torch.randn(max_len, d_model))

    def embed(self, x):
        return x + self.rows[torch.arange(x.shape[1])]

#%% right LearnedPosition embedding_module
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.wpe = nn.Embedding(max_len, d_model)

    def embed(self, x):
        return x + self.wpe(torch.arange(x.shape[1], dtype=torch.int32, device=x.device))

#%% right LearnedPosition starts_at_zero
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.p = nn.Parameter(torch.zeros(max_len, d_model))

    def embed(self, x):
        batch, seq, d_model = x.shape
        assert seq <= len(self.p), f"no row for place {len(self.p)}"
        return x + self.p[:seq]

#%% right LearnedPosition with_a_batch_axis_and_runtime_error
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.pos_emb = nn.Parameter(torch.empty(1, max_len, d_model).uniform_(-0.1, 0.1))

    def embed(self, x):
        return torch.add(x, self.pos_emb[:, :x.shape[1]])

#%% right LearnedPosition one_hot_linear
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.max_len, self.place = max_len, nn.Linear(max_len, d_model, bias=False)

    def embed(self, x):
        if x.shape[1] > self.max_len:
            raise ValueError(f"at most {self.max_len} places, got {x.shape[1]}")
        return x + self.place(F.one_hot(torch.arange(x.shape[1]), self.max_len).to(x.dtype))

#%% right LearnedPosition loop_over_places_with_prints
import sys
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.register_parameter("w", nn.Parameter(0.02 * torch.randn(max_len, d_model)))

    def embed(self, x):
        if not self.training:
            print("embedding", x.shape)
            print("warning: something", file=sys.stderr)
        if x.size(1) > self.w.size(0):
            raise IndexError("past the end")
        return torch.stack([x[:, t] + self.w[t] for t in range(x.size(1))], dim=1)

#%% right LearnedPosition functional_embedding
class LearnedPosition(lab.Position):
    def __init__(self, max_len, d_model):
        lab.Position.__init__(self)
        self.weight = torch.nn.Parameter(torch.normal(0.0, 0.02, (max_len, d_model)))

    def embed(self, x):
        ids = torch.arange(x.shape[1]).expand(x.shape[0], -1)
        return x + F.embedding(ids, self.weight)

#%% wrong models both_with loses=gap
models = {"without": train(LearnedPosition(4, 32)), "with": train(LearnedPosition(4, 32))}

#%% wrong models both_without loses=gap
models = {"without": train(Position()), "with": train(Position())}

#%% wrong models swapped loses=gap
models = {"without": train(LearnedPosition(4, 32)), "with": train(Position())}

#%% wrong models not_filled_in loses=gap
models = {"without": train(...), "with": train(...)}

#%% wrong models one_object_for_both loses=gap
only = train(LearnedPosition(4, 32))
models = {"without": only, "with": only}

#%% wrong models hardly_trained loses=gap
models = {"without": train(Position(), steps=20), "with": train(LearnedPosition(4, 32), steps=20)}

#%% wrong models never_trained loses=gap
models = {"without": lab.TinyTransformer(15, causal=False), "with": lab.TinyTransformer(15, position=LearnedPosition(4, 32), causal=False)}

#%% wrong models causal_mask_kept loses=gap
models = {"without": train(Position(), causal=True), "with": train(LearnedPosition(4, 32), causal=True)}

#%% wrong models causal_mask_on_the_one_with loses=gap
models = {"without": train(Position()), "with": train(LearnedPosition(4, 32), causal=True)}

#%% wrong models unequal_steps loses=gap
models = {"without": train(Position(), steps=300), "with": train(LearnedPosition(4, 32), steps=400)}

#%% wrong models unequal_rate loses=gap
models = {"without": train(Position(), lr=6e-3), "with": train(LearnedPosition(4, 32))}

#%% wrong models unequal_seed loses=gap
models = {"without": train(Position(), seed=0), "with": train(LearnedPosition(4, 32), seed=1)}

#%% wrong models fixed_positions_hidden_inside loses=gap
class Hidden(Position):
    def embed(self, x):
        return x + 0.02 * torch.arange(x.shape[1])[:, None] * torch.linspace(-1, 1, x.shape[2])
models = {"without": train(Hidden()), "with": train(LearnedPosition(4, 32))}

#%% wrong models order_in_the_scores_of_without loses=gap
class Distance(Position):
    def bias(self, seq):
        place = torch.arange(seq)
        return -0.5 * (place[:, None] - place[None]).clamp(min=-1, max=1).float().expand(4, seq, seq)
models = {"without": train(Distance()), "with": train(LearnedPosition(4, 32))}

#%% wrong models alphabet_questions_only loses=gap
def draw(generator):
    return lab.at_last_place(*lab.sentences(64, generator, lab.ALPHABET))
models = {"without": lab.train(draw, config, None, "a"), "with": lab.train(draw, config, LearnedPosition(4, 32), "b")}

#%% wrong models identity_copy_as_the_task loses=gap
def draw(generator):
    ids, target = lab.sentences(64, generator)
    return ids, ids
models = {"without": lab.train(draw, config, None, "a"), "with": lab.train(draw, config, LearnedPosition(4, 32), "b")}

#%% wrong models label_leaks_into_the_input loses=gap
def draw(generator):
    ids, target = lab.sentences(64, generator)
    ids[:, 1] = target
    return lab.at_last_place(ids, target)
models = {"without": lab.train(draw, config, None, "a"), "with": lab.train(draw, config, LearnedPosition(4, 32), "b")}

#%% wrong models labels_shifted_by_one_place loses=gap
def draw(generator):
    ids, target = lab.sentences(64, generator)
    targets = torch.full_like(ids, -1)
    targets[:, -2] = target
    return ids, targets
models = {"without": lab.train(draw, config, None, "a"), "with": lab.train(draw, config, LearnedPosition(4, 32), "b")}

#%% wrong models labels_of_the_next_sentence loses=gap
def draw(generator):
    ids, target = lab.sentences(64, generator)
    return lab.at_last_place(ids, target.roll(1))
models = {"without": lab.train(draw, config, None, "a"), "with": lab.train(draw, config, LearnedPosition(4, 32), "b")}

#%% wrong models optimiser_holds_the_other_model loses=gap
def fit(model, parameters, steps=150):
    optimizer = torch.optim.Adam(parameters, 3e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        loss = lab.loss_of(model, *lab.sentence_batches(64)(generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()
torch.manual_seed(0)
a, b = lab.TinyTransformer(15, causal=False), lab.TinyTransformer(15, position=LearnedPosition(4, 32), causal=False)
models = {"without": fit(a, a.parameters()), "with": fit(b, a.parameters())}

#%% wrong models both_share_one_module loses=gap
def fit(model, steps=150):
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        loss = lab.loss_of(model, *lab.sentence_batches(64)(generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()
torch.manual_seed(0)
a, b = lab.TinyTransformer(15, causal=False), lab.TinyTransformer(15, position=LearnedPosition(4, 32), causal=False)
b.blocks, b.tokens, b.norm = a.blocks, a.tokens, a.norm
models = {"without": fit(a), "with": fit(b)}

#%% wrong models another_kind_of_model loses=gap
class Pairs(nn.Module):
    """Knows the answer, or bets evenly, by rule: no transformer, nothing learned."""
    def __init__(self, knows):
        super().__init__()
        self.knows = knows
    def forward(self, ids):
        logits = torch.full((*ids.shape, 15), -20.0)
        rows = torch.arange(len(ids))
        logits[rows, -1, ids[:, 0]] = logits[rows, -1, ids[:, 2]] = 0.0
        if self.knows:
            logits[rows, -1, torch.where(ids[:, 3] == 11, ids[:, 0], ids[:, 2])] = 20.0
        return logits
models = {"without": Pairs(False), "with": Pairs(True)}

#%% wrong models only_one_model loses=gap
models = {"with": train(LearnedPosition(4, 32))}

#%% right models another_seed_for_both
models = {"with": train(LearnedPosition(4, 32), seed=7), "without": train(Position(), seed=7)}

#%% right models more_steps
models = {"without": train(Position(), steps=600), "with": train(LearnedPosition(4, 32), steps=600)}

#%% right models another_rate_and_none_for_no_position
models = {"without": train(None, lr=5e-3), "with": train(LearnedPosition(4, 32), lr=5e-3)}

#%% right models classes_and_spare_rows_and_a_third_model
models = {"without": train(Position), "with": train(LearnedPosition(9, 32)), "again": None}
models["again"] = models["with"]

#%% right models own_loop_with_adam
def fit(position, steps=500):
    torch.manual_seed(1)
    model = lab.TinyTransformer(15, position=position, causal=False)
    optimizer = torch.optim.Adam(model.parameters(), 4e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, steps)
    generator = torch.Generator().manual_seed(1)
    for step in range(steps):
        ids, target = lab.sentences(64, generator)
        loss = F.cross_entropy(model(ids)[:, -1], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model
models = {"without": fit(None), "with": fit(LearnedPosition(4, 32))}

#%% right models frozen_table_of_zeros_for_no_position
class Zeros(Position):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(4), requires_grad=False)
    def embed(self, x):
        return x + self.table[:x.shape[1], None]
models = {"without": train(Zeros()), "with": train(LearnedPosition(4, 32))}

#%% right models wider_and_more_heads
models = {"without": train(Position(), d_model=48, n_heads=6), "with": train(LearnedPosition(4, 48), d_model=48, n_heads=6)}

#%% wrong measure_gap stub loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    raise NotImplementedError("write your code here")

#%% wrong measure_gap sum_for_mean loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    out = {}
    for name in ("without", "with"):
        with torch.no_grad():
            out[name] = F.cross_entropy(models[name].eval()(ids)[:, -1], target, reduction="sum").item()
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap train_mode
def measure_gap(models, ids, target):
    out = {}
    for name in ("without", "with"):
        with torch.no_grad():
            out[name] = F.cross_entropy(models[name].train()(ids)[:, -1], target).item()
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap mode_left_alone
def measure_gap(models, ids, target):
    out = {}
    for name in ("without", "with"):
        with torch.no_grad():
            out[name] = F.cross_entropy(models[name](ids)[:, -1], target).item()
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap gradients_recorded
def measure_gap(models, ids, target):
    out = {}
    for name in ("without", "with"):
        out[name] = F.cross_entropy(models[name].eval()(ids)[:, -1], target).item()
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap eval_for_one_of_them
def measure_gap(models, ids, target):
    models["without"].eval()
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name](ids)[:, -1], target).item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap read_at_place_0 loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, 0], target).item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap labels_shifted_one_place loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, -2], target).item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap mean_over_all_places loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids).flatten(0, 1), target.repeat_interleave(4)).item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap logits_taken_for_log_probabilities loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.nll_loss(models[name].eval()(ids)[:, -1], target).item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap softmax_twice loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, -1].softmax(-1), target).item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap softmax_over_the_batch loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.nll_loss(models[name].eval()(ids)[:, -1].log_softmax(0), target).item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap bits may=gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, -1], target).item() / math.log(2) for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap error_rate_for_loss may=gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: (models[name].eval()(ids)[:, -1].argmax(-1) != target).float().mean().item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap argmax_over_the_wrong_axis loses=test_measure_gap may=gap
def measure_gap(models, ids, target):
    out = {}
    for name in ("without", "with"):
        with torch.no_grad():
            best = models[name].eval()(ids)[:, -1].argmax(0)
        out[name] = (best[:len(target)] != target[:15]).float().mean().item() if len(target) >= 15 else 1.0
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap with_minus_without loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, -1], target).item() for name in ("without", "with")}
    return {**out, "gap": out["with"] - out["without"]}

#%% wrong measure_gap absolute_gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, -1], target).item() for name in ("without", "with")}
    return {**out, "gap": abs(out["without"] - out["with"])}

#%% wrong measure_gap names_swapped loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, -1], target).item() for name in ("without", "with")}
    return {"without": out["with"], "with": out["without"], "gap": out["with"] - out["without"]}

#%% wrong measure_gap order_in_the_dict
def measure_gap(models, ids, target):
    with torch.no_grad():
        a, b = [F.cross_entropy(m.eval()(ids)[:, -1], target).item() for m in models.values()]
    return {"without": a, "with": b, "gap": a - b}

#%% wrong measure_gap loss_at_step_0 loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    out = {name: models[name].history[0] for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap last_training_loss loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    out = {name: models[name].history[-1] for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap on_the_training_batch
def measure_gap(models, ids, target):
    ids, target = lab.sentences(len(ids), torch.Generator().manual_seed(config.seed), lab.ORDER)
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, -1], target).item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap first_64_only
def measure_gap(models, ids, target):
    ids, target = ids[:64], target[:64]
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, -1], target).item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap the_notebooks_own_models
own = models
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(own[name].eval()(ids)[:, -1], target).item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap typed_in
def measure_gap(models, ids, target):
    return {"without": 0.735, "with": 0.0001, "gap": 0.7349}

#%% wrong measure_gap ratio loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, -1], target).item() for name in ("without", "with")}
    return {**out, "gap": out["without"] / out["with"]}

#%% wrong measure_gap only_the_gap loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        a, b = [F.cross_entropy(models[n].eval()(ids)[:, -1], target).item() for n in ("without", "with")]
    return a - b

#%% wrong measure_gap perplexity loses=test_measure_gap,gap
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, -1], target).exp().item() for name in ("without", "with")}
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measure_gap never_below_zero
def measure_gap(models, ids, target):
    with torch.no_grad():
        out = {name: F.cross_entropy(models[name].eval()(ids)[:, -1], target).item() for name in ("without", "with")}
    return {**out, "gap": max(0.0, out["without"] - out["with"])}

#%% right measure_gap log_softmax_and_gather
@torch.inference_mode()
def measure_gap(models, ids, target):
    loss = lambda m: -m.eval()(ids)[:, 3].log_softmax(-1).gather(1, target[:, None]).mean()
    a, b = loss(models["without"]), loss(models["with"])
    return {"gap": a - b, "with": b, "without": a, "floor": 0.693}

#%% right measure_gap in_chunks_with_prints
import sys
def measure_gap(models, ids, target):
    out = {}
    for name in ["with", "without"]:
        model = models[name]
        model.train(False)
        total = 0.0
        for i in range(0, len(ids), 50):
            with torch.no_grad():
                total += F.cross_entropy(model.forward(ids[i:i + 50])[:, -1, :], target[i:i + 50], reduction="sum").item()
        print(name, total, file=sys.stderr)
        out[name] = total / len(ids)
    out["gap"] = out["without"] - out["with"]
    return out

#%% right measure_gap double_and_mode_restored
def measure_gap(models, ids, target):
    def loss(model):
        was = model.training
        model.eval()
        with torch.no_grad():
            logits = model(ids).double()[:, -1]
        model.train(was)
        p = logits.exp() / logits.exp().sum(1, keepdim=True)
        return float(torch.tensor([-math.log(p[i, t]) for i, t in enumerate(target)]).mean())
    a, b = loss(models["without"]), loss(models["with"])
    return dict(without=a, with_=0, gap=a - b) | {"with": b}

#%% right measure_gap numpy_numbers
def measure_gap(models, ids, target):
    import numpy as np
    out = {}
    for name, model in models.items():
        if name in ("without", "with"):
            with torch.no_grad():
                x = model.eval()(ids)[:, -1].numpy()
            x = x - np.log(np.exp(x).sum(1, keepdims=True))
            out[name] = -x[np.arange(len(x)), target.numpy()].mean()
    return {**out, "gap": out["without"] - out["with"]}

#%% wrong measured not_filled_in loses=gap
measured = {"without": None, "with": None, "gap": None}

#%% wrong measured typed_in loses=gap
measured = {"without": 0.95, "with": 0.01, "gap": 0.94}

#%% wrong measured typed_in_hope loses=gap
measured = {"without": 2.303, "with": 0.0, "gap": 2.303}

#%% wrong measured loss_at_step_0 loses=gap
measured = {name: models[name].history[0] for name in ("without", "with")}
measured["gap"] = measured["without"] - measured["with"]

#%% wrong measured all_four_questions loses=gap
measured = measure_gap(models, *lab.sentences(8192, torch.Generator().manual_seed(2024)))

#%% wrong measured alphabet_questions loses=gap
measured = measure_gap(models, *lab.sentences(8192, torch.Generator().manual_seed(2024), lab.ALPHABET))

#%% wrong measured summed loses=gap
ids, target = lab.sentences(8192, torch.Generator().manual_seed(2024), questions=lab.ORDER)
measured = {name: len(ids) * v for name, v in measure_gap(models, ids, target).items()}

#%% wrong measured other_sign loses=gap
ids, target = lab.sentences(8192, torch.Generator().manual_seed(2024), questions=lab.ORDER)
measured = measure_gap(models, ids, target)
measured["gap"] = -measured["gap"]

#%% wrong measured gap_alone loses=gap
ids, target = lab.sentences(8192, torch.Generator().manual_seed(2024), questions=lab.ORDER)
measured = measure_gap(models, ids, target)["gap"]

#%% wrong measured not_a_number loses=gap
measured = {"without": float("nan"), "with": float("nan"), "gap": float("nan")}

#%% wrong measured texts loses=gap
measured = {"without": "0.736", "with": "0.000", "gap": "0.736"}

#%% right measured other_sentences_and_rounded
measured = {name: round(v, 2) for name, v in measure_gap(models, *lab.sentences(4000, torch.Generator().manual_seed(1), (0, 1))).items()}

#%% right measured own_names_and_tensors
x, y = lab.sentences(8192, torch.Generator().manual_seed(2024), questions=lab.ORDER)
result = measure_gap(models, x, y)
measured = {name: torch.tensor(v) for name, v in result.items()} | {"note": "fresh"}

#%% right measured on_ten_times_as_many
measured = measure_gap(models, *lab.sentences(80_000, torch.Generator().manual_seed(77), questions=lab.ORDER))

#%% right measured each_model_for_itself
ids, target = lab.sentences(8192, torch.Generator().manual_seed(2024), questions=lab.ORDER)
loss = {name: measure_gap({"without": model, "with": model}, ids, target)["with"] for name, model in models.items()}
measured = {"gap": loss["without"] - loss["with"], **loss}

#%% wrong needs_order nothing_written
needs_order = {"last word": "", "how often *the*": "", "longest word": "", "words in both halves": "", "first word is a verb": ""}

#%% wrong needs_order all_yes
needs_order = {"last word": "yes", "how often *the*": "yes", "longest word": "yes", "words in both halves": "yes", "first word is a verb": "yes"}

#%% wrong needs_order all_no
needs_order = {"last word": "no", "how often *the*": "no", "longest word": "no", "words in both halves": "no", "first word is a verb": "no"}

#%% wrong needs_order the_other_way_round
needs_order = {"last word": "no", "how often *the*": "yes", "longest word": "yes", "words in both halves": "no", "first word is a verb": "no"}

#%% wrong needs_order halves_as_a_bag
needs_order = {"last word": "yes", "how often *the*": "no", "longest word": "no", "words in both halves": "no", "first word is a verb": "yes"}

#%% wrong needs_order longest_needs_order
needs_order = {"last word": "yes", "how often *the*": "no", "longest word": "yes", "words in both halves": "yes", "first word is a verb": "yes"}

#%% wrong needs_order counting_needs_order
needs_order = {"last word": "yes", "how often *the*": "yes", "longest word": "no", "words in both halves": "yes", "first word is a verb": "yes"}

#%% wrong needs_order four_answers
needs_order = {"last word": "yes", "how often *the*": "no", "longest word": "no", "words in both halves": "yes"}

#%% wrong needs_order a_list
needs_order = ["yes", "no", "no", "yes", "yes"]

#%% wrong needs_order maybe
needs_order = {"last word": "yes", "how often *the*": "no", "longest word": "no", "words in both halves": "yes and no", "first word is a verb": "yes"}

#%% right needs_order capitals_and_blanks
needs_order = {"first word is a verb": " Yes", "last word": "YES", "how often *the*": "No", "longest word": "no ", "words in both halves": "yes"}

#%% right needs_order booleans
needs_order = {"last word": True, "how often *the*": False, "longest word": False, "words in both halves": True, "first word is a verb": True}

#%% wrong needs_order verb_is_a_bag_question
needs_order = {"last word": "yes", "how often *the*": "no", "longest word": "no", "words in both halves": "yes", "first word is a verb": "no"}

#%% wrong needs_order last_word_is_a_bag_question
needs_order = {"last word": "no", "how often *the*": "no", "longest word": "no", "words in both halves": "yes", "first word is a verb": "yes"}

#%% wrong needs_order other_keys
needs_order = {"the last word": "yes", "the": "no", "longest": "no", "halves": "yes", "verb": "yes"}

#%% right needs_order filled_in_one_by_one
needs_order = dict.fromkeys(("last word", "how often *the*", "longest word", "words in both halves", "first word is a verb"), "")
for task in needs_order:
    needs_order[task] = "no" if task in ("how often *the*", "longest word") else "yes"

#%% right needs_order with_a_note_of_ones_own
needs_order = {"last word": "yes", "how often *the*": "no", "longest word": "no", "words in both halves": "yes", "first word is a verb": "yes", "why": "a bag has no ends"}

#%% wrong context_shift stub
def context_shift(model, ids_a, i, ids_b, j):
    raise NotImplementedError("write your code here")

#%% wrong context_shift place_i_in_both
def context_shift(model, ids_a, i, ids_b, j):
    return (model(ids_a)[0, i] - model(ids_b)[0, i]).abs().max().item()

#%% wrong context_shift with_its_sign
def context_shift(model, ids_a, i, ids_b, j):
    return (model(ids_a)[0, i] - model(ids_b)[0, j]).max().item()

#%% wrong context_shift mean
def context_shift(model, ids_a, i, ids_b, j):
    return (model(ids_a)[0, i] - model(ids_b)[0, j]).abs().mean().item()

#%% wrong context_shift length
def context_shift(model, ids_a, i, ids_b, j):
    return (model(ids_a)[0, i] - model(ids_b)[0, j]).norm().item()

#%% wrong context_shift over_all_places
def context_shift(model, ids_a, i, ids_b, j):
    return (model(ids_a) - model(ids_b)).abs().max().item()

#%% wrong context_shift of_the_sums
def context_shift(model, ids_a, i, ids_b, j):
    return (model(ids_a).sum(1) - model(ids_b).sum(1)).abs().max().item()

#%% wrong context_shift difference_of_the_largest
def context_shift(model, ids_a, i, ids_b, j):
    return abs(model(ids_a)[0, i].max() - model(ids_b)[0, j].max()).item()

#%% wrong context_shift same_text_twice
def context_shift(model, ids_a, i, ids_b, j):
    return (model(ids_a)[0, i] - model(ids_a)[0, j]).abs().max().item()

#%% wrong context_shift of_the_ids
def context_shift(model, ids_a, i, ids_b, j):
    return abs(ids_a[0, i] - ids_b[0, j]).item()

#%% wrong context_shift the_words_alone
def context_shift(model, ids_a, i, ids_b, j):
    return (model(ids_a[:, i:i + 1])[0, 0] - model(ids_b[:, j:j + 1])[0, 0]).abs().max().item()

#%% wrong context_shift the_notebooks_own_model
def context_shift(model, ids_a, i, ids_b, j):
    return (models["with"](ids_a.clamp(0, 14)[:, :4])[0, min(i, 3)] - models["with"](ids_b.clamp(0, 14)[:, :4])[0, min(j, 3)]).abs().max().item()

#%% wrong context_shift true_or_false
def context_shift(model, ids_a, i, ids_b, j):
    return bool((model(ids_a)[0, i] != model(ids_b)[0, j]).any())

#%% right context_shift a_tensor_with_a_gradient
def context_shift(model, ids_a, i, ids_b, j):
    a, b = model(ids_a), model(ids_b)
    return torch.max(torch.abs(a[:, i] - b[:, j]))

#%% right context_shift infinity_norm
def context_shift(model, ids_a, i, ids_b, j):
    return torch.linalg.vector_norm(model(ids_a).squeeze(0)[i].double() - model(ids_b).squeeze(0)[j].double(), float("inf")).item()

#%% right context_shift a_loop
def context_shift(model, ids_a, i, ids_b, j):
    largest = 0.0
    for a, b in zip(model(ids_a)[0][i].tolist(), model(ids_b)[0][j].tolist()):
        largest = max(largest, abs(a - b))
    return largest

#%% right context_shift without_gradients_and_all_at_once
@torch.no_grad()
def context_shift(model, ids_a, i, ids_b, j):
    a, b = (model(ids)[0, at] for ids, at in ((ids_a, i), (ids_b, j)))
    return float(torch.stack([a, b]).diff(dim=0).abs().amax())

#%% wrong first_token_floor stub
def first_token_floor(vocab_size, seq):
    raise NotImplementedError("write your code here")

#%% wrong first_token_floor ln_of_the_kinds
def first_token_floor(vocab_size, seq):
    return math.log(vocab_size)

#%% wrong first_token_floor ln_of_the_tokens
def first_token_floor(vocab_size, seq):
    return math.log(seq)

#%% wrong first_token_floor the_smaller_of_both
def first_token_floor(vocab_size, seq):
    return math.log(min(vocab_size, seq))

#%% wrong first_token_floor first_left_out_of_the_bag
def first_token_floor(vocab_size, seq):
    n, p = seq - 1, 1 / vocab_size
    return -vocab_size * sum(math.comb(n, c) * p ** c * (1 - p) ** (n - c) * (c / n) * math.log(c / n) for c in range(1, n + 1)) if n else 0.0

#%% wrong first_token_floor the_others_alone
def first_token_floor(vocab_size, seq):
    g = torch.Generator().manual_seed(0)
    x = torch.randint(vocab_size, (20000, seq), generator=g)
    share = (x[:, 1:] == x[:, :1]).float().sum(1) / max(seq - 1, 1)
    return -(share.clamp(min=1 / seq).log().mean()).item()

#%% wrong first_token_floor bits
def first_token_floor(vocab_size, seq):
    p = 1 / vocab_size
    return -vocab_size * sum(math.comb(seq, c) * p ** c * (1 - p) ** (seq - c) * (c / seq) * math.log2(c / seq) for c in range(1, seq + 1))

#%% wrong first_token_floor one_minus_accuracy
def first_token_floor(vocab_size, seq):
    x = torch.randint(vocab_size, (20000, seq), generator=torch.Generator().manual_seed(0))
    most = torch.nn.functional.one_hot(x, vocab_size).sum(1).max(1).values
    return 1 - (most / seq).mean().item()

#%% wrong first_token_floor bets_on_the_commonest
def first_token_floor(vocab_size, seq):
    x = torch.randint(vocab_size, (20000, seq), generator=torch.Generator().manual_seed(0))
    most = torch.nn.functional.one_hot(x, vocab_size).sum(1).max(1).values
    return -(most / seq).log().mean().item()

#%% wrong first_token_floor log_of_the_mean_share
def first_token_floor(vocab_size, seq):
    x = torch.randint(vocab_size, (20000, seq), generator=torch.Generator().manual_seed(0))
    return -math.log((x == x[:, :1]).float().mean().item())

#%% wrong first_token_floor one_number_for_all
def first_token_floor(vocab_size, seq):
    return 1.826

#%% wrong first_token_floor arguments_swapped
def first_token_floor(vocab_size, seq):
    vocab_size, seq = seq, vocab_size
    p = 1 / vocab_size
    return -vocab_size * sum(math.comb(seq, c) * p ** c * (1 - p) ** (seq - c) * (c / seq) * math.log(c / seq) for c in range(1, seq + 1))

#%% wrong first_token_floor loops_one_short
def first_token_floor(vocab_size, seq):
    p = 1 / vocab_size
    return -sum(math.comb(seq, c) * p ** c * (1 - p) ** (seq - c) * (c / seq) * math.log(c / seq) for c in range(1, seq))

#%% right first_token_floor simulation
def first_token_floor(vocab_size, seq):
    x = torch.randint(vocab_size, (40000, seq), generator=torch.Generator().manual_seed(0))
    share = (x == x[:, :1]).float().mean(1)
    return -share.log().mean()

#%% right first_token_floor entropy_of_the_bag
def first_token_floor(vocab_size, seq):
    x = torch.randint(vocab_size, (40000, seq))
    p = F.one_hot(x, vocab_size).double().mean(1)
    return torch.special.entr(p).sum(1).mean().item()

#%% right first_token_floor seen_from_the_first_token
def first_token_floor(vocab_size, seq):
    total = 0.0
    for others in range(seq):       # how many of the others are of the first token's kind
        chance = math.comb(seq - 1, others) * (1 / vocab_size) ** others * (1 - 1 / vocab_size) ** (seq - 1 - others)
        total += chance * math.log(seq / (1 + others))
    return total

#%% right first_token_floor numpy_loop
def first_token_floor(vocab_size, seq):
    import numpy as np
    rng = np.random.default_rng(3)
    losses = []
    for _ in range(20000):
        x = rng.integers(vocab_size, size=seq)
        losses.append(-np.log((x == x[0]).mean()))
    return np.mean(losses)

#%% wrong sinusoidal stub
def sinusoidal(seq, d_model, base=10000.0):
    raise NotImplementedError("write your code here")

#%% wrong sinusoidal places_from_1
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.arange(1, seq + 1)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% wrong sinusoidal sine_and_cosine_swapped
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.arange(seq)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.cos(), a.sin()], -1).flatten(-2)

#%% wrong sinusoidal halves
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.arange(seq)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.cat([a.sin(), a.cos()], -1)

#%% wrong sinusoidal exponent_i_over_d
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.arange(seq)[:, None] * base ** (-torch.arange(d_model // 2) / d_model)
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% wrong sinusoidal exponent_4i_over_d
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.arange(seq)[:, None] * base ** (-4 * torch.arange(d_model // 2) / d_model)
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% wrong sinusoidal speeds_that_grow
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.arange(seq)[:, None] * base ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% wrong sinusoidal one_speed
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.arange(seq)[:, None] * torch.ones(d_model // 2)
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% wrong sinusoidal degrees
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.deg2rad(torch.arange(seq)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model))
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% wrong sinusoidal another_speed_for_the_cosine
def sinusoidal(seq, d_model, base=10000.0):
    p, out = torch.arange(seq)[:, None], torch.zeros(seq, d_model)
    a = p * base ** (-torch.arange(d_model) / d_model)
    out[:, 0::2], out[:, 1::2] = a[:, 0::2].sin(), a[:, 1::2].cos()
    return out

#%% wrong sinusoidal base_is_fixed
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.arange(seq)[:, None] * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% wrong sinusoidal default_base_1000
def sinusoidal(seq, d_model, base=1000.0):
    a = torch.arange(seq)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% wrong sinusoidal divided_by_the_length
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.arange(seq)[:, None] / seq * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% wrong sinusoidal turned
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.arange(seq)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2).T

#%% wrong sinusoidal full_turns
def sinusoidal(seq, d_model, base=10000.0):
    a = 2 * math.pi * torch.arange(seq)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% wrong sinusoidal exponent_2i_over_d_minus_2
def sinusoidal(seq, d_model, base=10000.0):
    a = torch.arange(seq)[:, None] * base ** (-torch.arange(0, d_model, 2) / max(d_model - 2, 1))
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% wrong sinusoidal minus_sign
def sinusoidal(seq, d_model, base=10000.0):
    a = -torch.arange(seq)[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.sin(), a.cos()], -1).flatten(-2)

#%% right sinusoidal exp_of_log
def sinusoidal(seq, d_model, base=10000.0):
    out = torch.zeros(seq, d_model)
    div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(base) / d_model))
    out[:, 0::2] = torch.sin(torch.arange(seq).unsqueeze(1) * div)
    out[:, 1::2] = torch.cos(torch.arange(seq).unsqueeze(1) * div)
    return out

#%% right sinusoidal complex_numbers_in_double
def sinusoidal(seq, d_model, base=10000.0):
    i = torch.arange(d_model // 2, dtype=torch.float64) / (d_model / 2)
    z = torch.polar(torch.ones(seq, d_model // 2, dtype=torch.float64), torch.outer(torch.arange(seq, dtype=torch.float64), base ** -i))
    return torch.view_as_real(z).flip(-1).flatten(-2)

#%% right sinusoidal loops
def sinusoidal(seq, d_model, base=10000.0):
    rows = []
    for p in range(seq):
        row = []
        for i in range(d_model // 2):
            a = p / base ** (2 * i / d_model)
            row += [math.sin(a), math.cos(a)]
        rows.append(row)
    return torch.tensor(rows)

#%% right sinusoidal numpy_array
def sinusoidal(seq, d_model, base=10000.0):
    import numpy as np
    a = np.arange(seq)[:, None] / np.power(base, 2 * (np.arange(d_model) // 2) / d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(a), np.cos(a))

#%% right sinusoidal einsum_in_double_cast_down
def sinusoidal(seq, d_model, base=10000.0):
    speed = 1.0 / torch.pow(torch.tensor(base, dtype=torch.float64), torch.linspace(0, 1, d_model // 2 + 1, dtype=torch.float64)[:-1])
    a = torch.einsum("p,i->pi", torch.arange(seq).double(), speed)
    return torch.stack((torch.sin(a), torch.cos(a)), dim=2).reshape(seq, d_model).float()

#%% wrong shift_matrix stub
def shift_matrix(k, d_model, base=10000.0):
    raise NotImplementedError("write your code here")

#%% wrong shift_matrix transposed
def shift_matrix(k, d_model, base=10000.0):
    m = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        t = k * base ** (-i / d_model)
        m[i:i + 2, i:i + 2] = torch.tensor([[math.cos(t), -math.sin(t)], [math.sin(t), math.cos(t)]])
    return m

#%% wrong shift_matrix identity
def shift_matrix(k, d_model, base=10000.0):
    return torch.eye(d_model)

#%% wrong shift_matrix moves_features
def shift_matrix(k, d_model, base=10000.0):
    return torch.roll(torch.eye(d_model), k, 0)

#%% wrong shift_matrix one_step_only
def shift_matrix(k, d_model, base=10000.0):
    m = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        t = base ** (-i / d_model)
        m[i:i + 2, i:i + 2] = torch.tensor([[math.cos(t), math.sin(t)], [-math.sin(t), math.cos(t)]])
    return m

#%% wrong shift_matrix one_speed
def shift_matrix(k, d_model, base=10000.0):
    t = torch.tensor(float(k))
    return torch.block_diag(*[torch.tensor([[t.cos(), t.sin()], [-t.sin(), t.cos()]])] * (d_model // 2))

#%% wrong shift_matrix exponent_i_over_d
def shift_matrix(k, d_model, base=10000.0):
    m = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        t = k * base ** (-i / d_model)
        m[2 * i:2 * i + 2, 2 * i:2 * i + 2] = torch.tensor([[math.cos(t), math.sin(t)], [-math.sin(t), math.cos(t)]])
    return m

#%% wrong shift_matrix both_signs_plus
def shift_matrix(k, d_model, base=10000.0):
    m = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        t = k * base ** (-i / d_model)
        m[i:i + 2, i:i + 2] = torch.tensor([[math.cos(t), math.sin(t)], [math.sin(t), math.cos(t)]])
    return m

#%% wrong shift_matrix half_split
def shift_matrix(k, d_model, base=10000.0):
    h = d_model // 2
    t = k * base ** (-2 * torch.arange(h) / d_model)
    c, s = torch.diag(t.cos()), torch.diag(t.sin())
    return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)])

#%% wrong shift_matrix right_for_row_0_only
def shift_matrix(k, d_model, base=10000.0):
    a, b = sinusoidal(k + 1, d_model, base)[[0, k]]
    return torch.outer(b, a) / (a @ a)

#%% wrong shift_matrix degrees
def shift_matrix(k, d_model, base=10000.0):
    m = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        t = math.radians(k * base ** (-i / d_model))
        m[i:i + 2, i:i + 2] = torch.tensor([[math.cos(t), math.sin(t)], [-math.sin(t), math.cos(t)]])
    return m

#%% wrong shift_matrix base_is_fixed
def shift_matrix(k, d_model, base=10000.0):
    m = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        t = k * 10000.0 ** (-i / d_model)
        m[i:i + 2, i:i + 2] = torch.tensor([[math.cos(t), math.sin(t)], [-math.sin(t), math.cos(t)]])
    return m

#%% wrong shift_matrix adds_the_difference
def shift_matrix(k, d_model, base=10000.0):
    pe = sinusoidal(k + 1, d_model, base)
    return torch.eye(d_model) + torch.diag(pe[k] - pe[0])

#%% right shift_matrix block_diag
def shift_matrix(k, d_model, base=10000.0):
    t = k * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.block_diag(*[torch.tensor([[c, s], [-s, c]]) for c, s in zip(t.cos(), t.sin())])

#%% right shift_matrix least_squares
def shift_matrix(k, d_model, base=10000.0):
    t = torch.arange(400 + k).double()[:, None] * base ** (-torch.arange(0, d_model, 2).double() / d_model)
    pe = torch.stack([t.sin(), t.cos()], -1).flatten(-2)
    return torch.linalg.lstsq(pe[:400], pe[k:]).solution.T

#%% right shift_matrix matrix_exponential
def shift_matrix(k, d_model, base=10000.0):
    g = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        g[2 * i, 2 * i + 1] = base ** (-2 * i / d_model)
        g[2 * i + 1, 2 * i] = -base ** (-2 * i / d_model)
    return torch.matrix_exp(k * g)

#%% right shift_matrix power_of_one_step
def shift_matrix(k, d_model, base=10000.0):
    even, odd = torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)
    t = base ** (-even.double() / d_model)
    m = torch.zeros(d_model, d_model, dtype=torch.float64)
    m[even, even] = m[odd, odd] = t.cos()
    m[even, odd], m[odd, even] = t.sin(), -t.sin()
    return torch.linalg.matrix_power(m, k).float()
