"""Answers to 01, wrong and unusual but right, each the smallest replacement of one solution cell.

`#%% wrong CELL NAME` loses the graded cell test_CELL and nothing else, unless loses= says otherwise; `may=` names
cells that can fall with it, since they build on it. `#%% right CELL NAME` keeps every point.
"""
#%% wrong lookup stub
def lookup(table, ids):
    raise NotImplementedError("your lines go here")
#%% wrong lookup off_by_one_id
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(table):
        raise IndexError("id out of range")
    return table[(ids + 1) % len(table)]
#%% wrong lookup negative_id_wraps
def lookup(table, ids):
    return table[ids]
#%% wrong lookup ids_modulo_vocabulary
def lookup(table, ids):
    return table[ids % len(table)]
#%% wrong lookup id_equal_to_vocab_size_clamped
def lookup(table, ids):
    if ids.min() < 0:
        raise IndexError("negative id")
    return table[ids.clamp(max=len(table) - 1)]
#%% wrong lookup transposed_table
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(table):
        raise IndexError("id out of range")
    return table.T[ids] if table.shape[0] == table.shape[1] else table[ids]
#%% wrong lookup only_two_dimensional_ids
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(table):
        raise IndexError("id out of range")
    batch, seq = ids.shape
    return table[ids.reshape(-1)].view(batch, seq, -1)
#%% wrong lookup transposed_ids_reshaped_back
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(table):
        raise IndexError("id out of range")
    if ids.ndim < 2:
        return table[ids]
    return table[ids.transpose(0, 1).reshape(ids.shape)]
#%% wrong lookup detached
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(table):
        raise IndexError("id out of range")
    return table.detach()[ids]
#%% wrong lookup scaled_by_sqrt_d
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(table):
        raise IndexError("id out of range")
    return table[ids] * table.shape[1] ** 0.5
#%% wrong lookup renormalises_the_table_in_place
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(table):
        raise IndexError("id out of range")
    out = table[ids].clone()
    table.detach().div_(table.norm(dim=1, keepdim=True).clamp(min=1))
    return out
#%% wrong lookup float64_returned
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(table):
        raise IndexError("id out of range")
    return table[ids].double()
#%% wrong lookup cached_by_shape
seen = {}
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(table):
        raise IndexError("id out of range")
    key = (tuple(table.shape), tuple(ids.shape))
    if key not in seen:
        seen[key] = table[ids]
    return seen[key]
#%% wrong lookup a_global_table_in_place_of_the_argument
TABLE = torch.tensor([[0., 1.], [10., 11.], [20., 21.], [30., 31.]], requires_grad=True)
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(TABLE):
        raise IndexError("id out of range")
    return TABLE[ids]
#%% wrong lookup rounded_to_four_digits
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(table):
        raise IndexError("id out of range")
    return (table[ids] * 1e4).round() / 1e4 + 0 * table[ids]
#%% wrong lookup checks_the_first_id_only
def lookup(table, ids):
    if not 0 <= ids.flatten()[0] < len(table):
        raise IndexError("id out of range")
    return table[ids % len(table)]
#%% wrong lookup returns_a_list
def lookup(table, ids):
    if ids.min() < 0 or ids.max() >= len(table):
        raise IndexError("id out of range")
    return table[ids].tolist()
#%% right lookup functional_embedding
def lookup(table, ids):
    if (ids < 0).any() or (ids >= table.size(0)).any():
        raise IndexError("bad id")
    return F.embedding(ids, table)
#%% right lookup index_select
def lookup(table, ids):
    if not ((0 <= ids) & (ids < len(table))).all():
        raise IndexError("bad id")
    return table.index_select(0, ids.flatten()).view(*ids.shape, table.shape[1])
#%% right lookup gather
def lookup(table, ids):
    if ids.min() < 0:
        raise RuntimeError("negative id")
    flat = ids.reshape(-1, 1).long().expand(-1, table.shape[1])
    return table.gather(0, flat).reshape(ids.shape + table.shape[1:])
#%% right lookup a_loop_with_prints_and_warnings
import sys, warnings
def lookup(table, ids):
    print("looking up", tuple(ids.shape))
    print("to stderr", file=sys.stderr)
    warnings.warn("a warning")
    rows = []
    for i in ids.flatten().tolist():
        if i < 0 or i > len(table) - 1:
            raise IndexError(f"no row {i}")
        rows.append(table[i])
    return torch.stack(rows).reshape(*ids.shape, -1)
#%% right lookup embedding_module
def lookup(table, ids):
    if ids.min().item() < 0 or ids.max().item() >= table.shape[0]:
        raise IndexError("bad id")
    return torch.nn.functional.embedding(ids.to(torch.int64), table, padding_idx=None)
#%% right lookup helper_and_other_argument_names
def legal(i, n):
    return bool(((i >= 0) & (i < n)).all())
def lookup(W, tokens):
    if not legal(tokens, W.shape[0]):
        raise IndexError("bad id")
    return W[tokens, :]
#%% right lookup negative_id_runtime_error
def lookup(table, ids):
    if ids.min() < 0:
        raise RuntimeError("negative ids do not exist")
    return table[ids]

#%% wrong one_hot stub
def one_hot(ids, vocab_size):
    raise NotImplementedError("your lines go here")
def lookup_by_matmul(table, ids):
    raise NotImplementedError("your lines go here")
#%% wrong one_hot columns_counted_not_told
def one_hot(ids, vocab_size):
    return F.one_hot(ids).float()
def lookup_by_matmul(table, ids):
    return F.one_hot(ids, len(table)).float() @ table
#%% wrong one_hot integers
def one_hot(ids, vocab_size):
    return F.one_hot(ids, vocab_size)
def lookup_by_matmul(table, ids):
    return one_hot(ids, len(table)).float() @ table
#%% wrong one_hot one_cold
def one_hot(ids, vocab_size):
    return 1 - F.one_hot(ids, vocab_size).float()
def lookup_by_matmul(table, ids):
    return F.one_hot(ids, len(table)).float() @ table
#%% wrong one_hot flattened_ids
def one_hot(ids, vocab_size):
    return F.one_hot(ids.flatten(), vocab_size).float()
def lookup_by_matmul(table, ids):
    return F.one_hot(ids, len(table)).float() @ table
#%% wrong one_hot off_by_one
def one_hot(ids, vocab_size):
    return F.one_hot((ids + 1) % vocab_size, vocab_size).float()
def lookup_by_matmul(table, ids):
    return F.one_hot(ids, len(table)).float() @ table
#%% wrong one_hot float64
def one_hot(ids, vocab_size):
    return F.one_hot(ids, vocab_size).double()
def lookup_by_matmul(table, ids):
    return F.one_hot(ids, len(table)).float() @ table
#%% wrong one_hot transposed_when_square
def one_hot(ids, vocab_size):
    hot = F.one_hot(ids, vocab_size).float()
    return hot.T if hot.ndim == 2 and hot.shape[0] == hot.shape[1] else hot
def lookup_by_matmul(table, ids):
    return F.one_hot(ids, len(table)).float() @ table
#%% wrong one_hot product_detached
def one_hot(ids, vocab_size):
    return F.one_hot(ids, vocab_size).float()
def lookup_by_matmul(table, ids):
    return one_hot(ids, len(table)) @ table.detach()
#%% wrong one_hot product_with_transposed_table_when_square
def one_hot(ids, vocab_size):
    return F.one_hot(ids, vocab_size).float()
def lookup_by_matmul(table, ids):
    return one_hot(ids, len(table)) @ (table.T if table.shape[0] == table.shape[1] else table)
#%% wrong one_hot product_normalised
def one_hot(ids, vocab_size):
    return F.one_hot(ids, vocab_size).float()
def lookup_by_matmul(table, ids):
    return F.normalize(one_hot(ids, len(table)) @ table, dim=-1)
#%% wrong one_hot product_only_for_flat_ids
def one_hot(ids, vocab_size):
    return F.one_hot(ids, vocab_size).float()
def lookup_by_matmul(table, ids):
    return one_hot(ids.flatten(), len(table)) @ table
#%% wrong one_hot returns_none
def one_hot(ids, vocab_size):
    F.one_hot(ids, vocab_size).float()
def lookup_by_matmul(table, ids):
    return F.one_hot(ids, len(table)).float() @ table
#%% right one_hot comparison_and_einsum
def one_hot(ids, vocab_size):
    return (ids.unsqueeze(-1) == torch.arange(vocab_size)).to(torch.float32)
def lookup_by_matmul(table, ids):
    return torch.einsum("...v,vd->...d", one_hot(ids, table.size(0)), table)
#%% right one_hot rows_of_the_identity
def one_hot(ids, vocab_size):
    return torch.eye(vocab_size)[ids]
def lookup_by_matmul(table, ids):
    return torch.matmul(one_hot(ids, table.shape[0]).to(table.dtype), table)
#%% right one_hot scatter
def one_hot(ids, vocab_size):
    return torch.zeros(*ids.shape, vocab_size).scatter(-1, ids.unsqueeze(-1), 1.0)
def lookup_by_matmul(table, ids):
    return one_hot(ids, len(table)) @ table
#%% right one_hot product_in_float64_cast_down
def one_hot(ids, vocab_size):
    return F.one_hot(ids, num_classes=vocab_size).float()
def lookup_by_matmul(table, ids):
    return (one_hot(ids, len(table)).double() @ table.double()).to(table.dtype)
#%% right one_hot linear_layer
def one_hot(ids, vocab_size):
    return F.one_hot(ids, vocab_size).type(torch.float)
def lookup_by_matmul(table, ids):
    return F.linear(one_hot(ids, len(table)), table.T)

#%% wrong table_grad stub
def table_grad(ids, upstream, vocab_size):
    raise NotImplementedError("your lines go here")
#%% wrong table_grad repeats_overwrite
def table_grad(ids, upstream, vocab_size):
    grad = torch.zeros(vocab_size, upstream.shape[1])
    grad[ids] = upstream
    return grad
#%% wrong table_grad indexed_plus_equals_visits_once
def table_grad(ids, upstream, vocab_size):
    grad = torch.zeros(vocab_size, upstream.shape[1])
    grad[ids] += upstream
    return grad
#%% wrong table_grad averaged_over_visits
def table_grad(ids, upstream, vocab_size):
    grad = torch.zeros(vocab_size, upstream.shape[1]).index_add(0, ids, upstream)
    return grad / torch.bincount(ids, minlength=vocab_size).clamp(min=1)[:, None]
#%% wrong table_grad every_row_gets_some
def table_grad(ids, upstream, vocab_size):
    grad = torch.zeros(vocab_size, upstream.shape[1]).index_add(0, ids, upstream)
    return grad + 1e-2
#%% wrong table_grad rows_counted_from_the_largest_id
def table_grad(ids, upstream, vocab_size):
    return torch.zeros(int(ids.max()) + 1, upstream.shape[1]).index_add(0, ids, upstream)
#%% wrong table_grad ignores_upstream
def table_grad(ids, upstream, vocab_size):
    return torch.zeros(vocab_size, upstream.shape[1]).index_add(0, ids, torch.ones_like(upstream))
#%% wrong table_grad sum_of_upstream_in_every_row
def table_grad(ids, upstream, vocab_size):
    grad = torch.zeros(vocab_size, upstream.shape[1])
    grad[ids] = upstream.sum(0)
    return grad
#%% wrong table_grad negative_sign
def table_grad(ids, upstream, vocab_size):
    return torch.zeros(vocab_size, upstream.shape[1]).index_add(0, ids, -upstream)
#%% wrong table_grad off_by_one
def table_grad(ids, upstream, vocab_size):
    return torch.zeros(vocab_size, upstream.shape[1]).index_add(0, (ids + 1) % vocab_size, upstream)
#%% wrong table_grad transposed
def table_grad(ids, upstream, vocab_size):
    return torch.zeros(vocab_size, upstream.shape[1]).index_add(0, ids, upstream).T
#%% wrong table_grad divided_by_seq
def table_grad(ids, upstream, vocab_size):
    return torch.zeros(vocab_size, upstream.shape[1]).index_add(0, ids, upstream) / len(ids)
#%% wrong table_grad spoils_upstream
def table_grad(ids, upstream, vocab_size):
    grad = torch.zeros(vocab_size, upstream.shape[1]).index_add(0, ids, upstream)
    upstream.zero_()
    return grad
#%% right table_grad one_hot_product
def table_grad(ids, upstream, vocab_size):
    return F.one_hot(ids, vocab_size).to(upstream.dtype).T @ upstream
#%% right table_grad index_add
def table_grad(ids, upstream, vocab_size):
    return upstream.new_zeros(vocab_size, upstream.size(1)).index_add_(0, ids, upstream)
#%% right table_grad index_put_accumulate
def table_grad(ids, upstream, vocab_size):
    return torch.zeros(vocab_size, upstream.shape[1]).index_put((ids,), upstream, accumulate=True)
#%% right table_grad a_loop_over_the_rows
def table_grad(ids, upstream, vocab_size):
    return torch.stack([upstream[ids == i].sum(0) for i in range(vocab_size)])
#%% right table_grad by_autograd
def table_grad(ids, upstream, vocab_size):
    table = torch.zeros(vocab_size, upstream.shape[1], requires_grad=True)
    (table[ids] * upstream).sum().backward()
    return table.grad

#%% wrong cosine_gap stub
def cosine_gap(rows, labels):
    raise NotImplementedError("your lines go here")
#%% wrong cosine_gap dot_products
def cosine_gap(rows, labels):
    dots = rows @ rows.T
    same, eye = labels[:, None] == labels, torch.eye(len(rows), dtype=torch.bool)
    return (dots[same & ~eye].mean() - dots[~same].mean()).item()
#%% wrong cosine_gap each_word_with_itself
def cosine_gap(rows, labels):
    unit = F.normalize(rows, dim=1)
    cosine, same = unit @ unit.T, labels[:, None] == labels
    return (cosine[same].mean() - cosine[~same].mean()).item()
#%% wrong cosine_gap swapped
def cosine_gap(rows, labels):
    unit = F.normalize(rows, dim=1)
    cosine, same, eye = unit @ unit.T, labels[:, None] == labels, torch.eye(len(rows), dtype=torch.bool)
    return (cosine[~same].mean() - cosine[same & ~eye].mean()).item()
#%% wrong cosine_gap normalised_along_the_wrong_axis
def cosine_gap(rows, labels):
    unit = F.normalize(rows, dim=0)
    cosine, same, eye = unit @ unit.T, labels[:, None] == labels, torch.eye(len(rows), dtype=torch.bool)
    return (cosine[same & ~eye].mean() - cosine[~same].mean()).item()
#%% wrong cosine_gap within_alone
def cosine_gap(rows, labels):
    unit = F.normalize(rows, dim=1)
    cosine, same, eye = unit @ unit.T, labels[:, None] == labels, torch.eye(len(rows), dtype=torch.bool)
    return cosine[same & ~eye].mean().item()
#%% wrong cosine_gap sums_for_means
def cosine_gap(rows, labels):
    unit = F.normalize(rows, dim=1)
    cosine, same, eye = unit @ unit.T, labels[:, None] == labels, torch.eye(len(rows), dtype=torch.bool)
    return (cosine[same & ~eye].sum() - cosine[~same].sum()).item()
#%% wrong cosine_gap neighbours_only
def cosine_gap(rows, labels):
    cosine, same = F.cosine_similarity(rows[1:], rows[:-1]), labels[1:] == labels[:-1]
    return (cosine[same].mean() - cosine[~same].mean()).nan_to_num().item()
#%% wrong cosine_gap across_means_everything
def cosine_gap(rows, labels):
    unit = F.normalize(rows, dim=1)
    cosine, same, eye = unit @ unit.T, labels[:, None] == labels, torch.eye(len(rows), dtype=torch.bool)
    return (cosine[same & ~eye].mean() - cosine[~eye].mean()).item()
#%% wrong cosine_gap centred_first
def cosine_gap(rows, labels):
    unit = F.normalize(rows - rows.mean(0), dim=1)
    cosine, same, eye = unit @ unit.T, labels[:, None] == labels, torch.eye(len(rows), dtype=torch.bool)
    return (cosine[same & ~eye].mean() - cosine[~same].mean()).item()
#%% wrong cosine_gap distances
def cosine_gap(rows, labels):
    d = torch.cdist(rows, rows)
    same, eye = labels[:, None] == labels, torch.eye(len(rows), dtype=torch.bool)
    return (d[~same].mean() - d[same & ~eye].mean()).item()
#%% wrong cosine_gap rescales_the_rows_in_place
def cosine_gap(rows, labels):
    rows /= rows.norm(dim=1, keepdim=True)
    cosine, same, eye = rows @ rows.T, labels[:, None] == labels, torch.eye(len(rows), dtype=torch.bool)
    return (cosine[same & ~eye].mean() - cosine[~same].mean()).item()
#%% wrong cosine_gap mean_of_class_means may=
def cosine_gap(rows, labels):
    unit = F.normalize(rows, dim=1)
    cosine, same, eye = unit @ unit.T, labels[:, None] == labels, torch.eye(len(rows), dtype=torch.bool)
    centre = torch.stack([unit[labels == k].mean(0) for k in labels.unique()])
    between = F.normalize(centre, dim=1) @ F.normalize(centre, dim=1).T
    off = ~torch.eye(len(centre), dtype=torch.bool)
    return (cosine[same & ~eye].mean() - between[off].mean()).item()
#%% right cosine_gap loops
def cosine_gap(rows, labels):
    within, across = [], []
    for i in range(len(rows)):
        for j in range(i):
            c = float(F.cosine_similarity(rows[i], rows[j], dim=0))
            (within if labels[i] == labels[j] else across).append(c)
    return sum(within) / len(within) - sum(across) / len(across)
#%% right cosine_gap a_tensor_of_one_number
def cosine_gap(rows, labels):
    unit = rows / rows.norm(dim=1, keepdim=True)
    cosine, same = unit @ unit.T, (labels[:, None] == labels).fill_diagonal_(False)
    return cosine[same].mean() - cosine[labels[:, None] != labels].mean()
#%% right cosine_gap float64
def cosine_gap(rows, labels):
    rows = rows.double()
    cosine = F.cosine_similarity(rows[:, None], rows[None], dim=-1)
    i, j = torch.triu_indices(len(rows), len(rows), 1)
    same = labels[i] == labels[j]
    return float(cosine[i, j][same].mean() - cosine[i, j][~same].mean())
#%% right cosine_gap with_numpy
import numpy as np
def cosine_gap(rows, labels):
    u = rows.numpy() / np.linalg.norm(rows.numpy(), axis=1, keepdims=True)
    same = labels.numpy()[:, None] == labels.numpy()
    return np.mean((u @ u.T)[same & ~np.eye(len(u), dtype=bool)]) - np.mean((u @ u.T)[~same])

#%% wrong table_share stub
def table_share(vocab_size, d_model, n_layers):
    raise NotImplementedError("your lines go here")
#%% wrong table_share both_tables_counted_when_tied
def table_share(vocab_size, d_model, n_layers):
    table = 2 * vocab_size * d_model
    return table, table / (table + 12 * n_layers * d_model ** 2)
#%% wrong table_share two_tables_in_the_whole
def table_share(vocab_size, d_model, n_layers):
    table = vocab_size * d_model
    return table, table / (2 * table + 12 * n_layers * d_model ** 2)
#%% wrong table_share over_the_blocks
def table_share(vocab_size, d_model, n_layers):
    table = vocab_size * d_model
    return table, table / (12 * n_layers * d_model ** 2)
#%% wrong table_share percent
def table_share(vocab_size, d_model, n_layers):
    table = vocab_size * d_model
    return table, 100 * table / (table + 12 * n_layers * d_model ** 2)
#%% wrong table_share one_block_only
def table_share(vocab_size, d_model, n_layers):
    table = vocab_size * d_model
    return table, table / (table + 12 * d_model ** 2)
#%% wrong table_share swapped_sizes
def table_share(vocab_size, d_model, n_layers):
    table = vocab_size * d_model
    return table, table / (table + 12 * n_layers * vocab_size ** 2)
#%% wrong table_share blocks_linear_in_d
def table_share(vocab_size, d_model, n_layers):
    table = vocab_size * d_model
    return table, table / (table + 12 * n_layers * d_model)
#%% wrong table_share share_first
def table_share(vocab_size, d_model, n_layers):
    table = vocab_size * d_model
    return table / (table + 12 * n_layers * d_model ** 2), table
#%% wrong table_share share_alone
def table_share(vocab_size, d_model, n_layers):
    table = vocab_size * d_model
    return table / (table + 12 * n_layers * d_model ** 2)
#%% wrong table_share rounded_to_percent
def table_share(vocab_size, d_model, n_layers):
    table = vocab_size * d_model
    return table, round(table / (table + 12 * n_layers * d_model ** 2), 2)
#%% wrong table_share gpt2_always
def table_share(vocab_size, d_model, n_layers):
    return 38597376, 0.3125
#%% wrong table_share a_context_table_of_1024_added
def table_share(vocab_size, d_model, n_layers):
    table = vocab_size * d_model
    return table, table / (table + 1024 * d_model + 12 * n_layers * d_model ** 2)
#%% right table_share a_list_and_another_formula
def table_share(vocab_size, d_model, n_layers):
    return [vocab_size * d_model, vocab_size / (vocab_size + 12 * n_layers * d_model)]
#%% right table_share floats
def table_share(vocab_size, d_model, n_layers):
    table = float(vocab_size * d_model)
    return table, 1 / (1 + 12.0 * n_layers * d_model ** 2 / table)
#%% right table_share tensors
def table_share(vocab_size, d_model, n_layers):
    table = torch.tensor(vocab_size * d_model)
    return table, table.double() / (table + 12 * n_layers * d_model ** 2)
#%% right table_share numel_of_a_meta_table
def table_share(vocab_size, d_model, n_layers):
    table = torch.empty(vocab_size, d_model, device="meta").numel()
    blocks = sum(12 * d_model * d_model for _ in range(n_layers))
    return table, table / (table + blocks)

#%% wrong tied_head stub
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        raise NotImplementedError("your lines go here")
#%% wrong tied_head a_copy
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.weight = nn.Parameter(table.weight.detach().clone())
    def forward(self, x):
        return x @ self.weight.T
#%% wrong tied_head plain_copy_no_parameter
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.w = table.weight.detach().clone()
    def forward(self, x):
        return x @ self.w.T
#%% wrong tied_head detached_view
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.w = table.weight.detach()
    def forward(self, x):
        return x @ self.w.T
#%% wrong tied_head softmax_inside
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.weight = table.weight
    def forward(self, x):
        return (x @ self.weight.T).softmax(-1)
#%% wrong tied_head log_softmax_inside
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.weight = table.weight
    def forward(self, x):
        return (x @ self.weight.T).log_softmax(-1)
#%% wrong tied_head scaled_down
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.weight = table.weight
    def forward(self, x):
        return x @ self.weight.T / x.shape[-1] ** 0.5
#%% wrong tied_head scaled_up
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.weight = table.weight
    def forward(self, x):
        return x @ self.weight.T * x.shape[-1] ** 0.5
#%% wrong tied_head fresh_linear
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.out = nn.Linear(table.embedding_dim, table.num_embeddings, bias=False)
    def forward(self, x):
        return self.out(x)
#%% wrong tied_head linear_with_its_own_bias
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.out = nn.Linear(table.embedding_dim, table.num_embeddings)
        self.out.weight = table.weight
    def forward(self, x):
        return self.out(x)
#%% wrong tied_head not_transposed_when_square
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.weight = table.weight
    def forward(self, x):
        square = self.weight.shape[0] == self.weight.shape[1]
        return x @ (self.weight if square else self.weight.T)
#%% wrong tied_head copied_at_the_first_call
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table, self.w = table, None
    def forward(self, x):
        if self.w is None:
            self.w = self.table.weight.detach().clone()
        return x @ self.w.T
#%% wrong tied_head gradient_of_one_job_only
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table
    def forward(self, x):
        return x @ self.table.weight.detach().T
#%% wrong tied_head cosine_in_place_of_dot
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.weight = table.weight
    def forward(self, x):
        return F.normalize(x, dim=-1) @ F.normalize(self.weight, dim=-1).T
#%% right tied_head keeps_the_table_module
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table
    def forward(self, x):
        return F.linear(x, self.table.weight)
#%% right tied_head linear_with_the_weight_handed_on
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.out = nn.Linear(table.embedding_dim, table.num_embeddings, bias=False)
        self.out.weight = table.weight
    def forward(self, x):
        return self.out(x)
#%% right tied_head einsum
class TiedHead(nn.Module):
    def __init__(self, emb):
        super().__init__()
        self.W = emb.weight
    def forward(self, h):
        return torch.einsum("btd,vd->btv", h, self.W)
#%% right tied_head a_closure_with_no_class
def TiedHead(table):
    class Head(nn.Module):
        def forward(self, x):
            return torch.matmul(x, table.weight.transpose(0, 1))
    return Head()

#%% wrong nearest stub
def nearest(rows, vec, exclude=()):
    raise NotImplementedError("your lines go here")
#%% wrong nearest dot_product
def nearest(rows, vec, exclude=()):
    return [i for i in (rows @ vec).argsort(descending=True).tolist() if i not in exclude]
#%% wrong nearest lowest_first
def nearest(rows, vec, exclude=()):
    return [i for i in F.cosine_similarity(rows, vec[None]).argsort().tolist() if i not in exclude]
#%% wrong nearest euclidean
def nearest(rows, vec, exclude=()):
    return [i for i in (rows - vec).norm(dim=1).argsort().tolist() if i not in exclude]
#%% wrong nearest ignores_exclude
def nearest(rows, vec, exclude=()):
    return F.cosine_similarity(rows, vec[None]).argsort(descending=True).tolist()
#%% wrong nearest drops_the_best_one
def nearest(rows, vec, exclude=()):
    return [i for i in F.cosine_similarity(rows, vec[None]).argsort(descending=True).tolist() if i not in exclude][1:]
#%% wrong nearest first_three_only
def nearest(rows, vec, exclude=()):
    return [i for i in F.cosine_similarity(rows, vec[None]).argsort(descending=True).tolist() if i not in exclude][:3]
#%% wrong nearest absolute_cosine
def nearest(rows, vec, exclude=()):
    return [i for i in F.cosine_similarity(rows, vec[None]).abs().argsort(descending=True).tolist() if i not in exclude]
#%% wrong nearest the_numbers_not_the_ids
def nearest(rows, vec, exclude=()):
    return F.cosine_similarity(rows, vec[None]).sort(descending=True).values.tolist()
#%% wrong nearest excludes_ranks_not_ids
def nearest(rows, vec, exclude=()):
    return [i for k, i in enumerate(F.cosine_similarity(rows, vec[None]).argsort(descending=True).tolist()) if k not in exclude]
#%% wrong nearest normalises_columns
def nearest(rows, vec, exclude=()):
    return [i for i in (F.normalize(rows, dim=0) @ vec).argsort(descending=True).tolist() if i not in exclude]
#%% wrong nearest ranks_for_ids
def nearest(rows, vec, exclude=()):
    return [i for i in F.cosine_similarity(rows, vec[None]).argsort(descending=True).argsort().tolist() if i not in exclude]
#%% right nearest python_sort
def nearest(rows, vec, exclude=()):
    c = (F.normalize(rows, dim=1) @ F.normalize(vec, dim=0)).tolist()
    return sorted((i for i in range(len(rows)) if i not in set(exclude)), key=lambda i: -c[i])
#%% right nearest a_tensor_of_ids
def nearest(rows, vec, exclude=()):
    order = torch.argsort(-F.cosine_similarity(rows, vec.unsqueeze(0)))
    return order[[i not in exclude for i in order.tolist()]]
#%% right nearest unnormalised_vec
def nearest(rows, vec, exclude=()):
    score = rows @ vec / rows.norm(dim=1)
    score[list(exclude)] = -float("inf")
    return score.topk(len(rows) - len(exclude)).indices.tolist()
#%% right nearest numpy_ids
import numpy as np
def nearest(rows, vec, exclude=()):
    r, v = rows.numpy(), vec.numpy()
    return [i for i in np.argsort(-(r @ v) / np.linalg.norm(r, axis=1)) if i not in exclude]

#%% wrong moves untouched
moves = {"SGD": {"seen before": "", "never seen": ""}, "Adam": {"seen before": "", "never seen": ""}, "AdamW": {"seen before": "", "never seen": ""}}
#%% wrong moves nothing_moves
moves = {o: {"seen before": "no", "never seen": "no"} for o in ("SGD", "Adam", "AdamW")}
#%% wrong moves all_move
moves = {o: {"seen before": "yes", "never seen": "yes"} for o in ("SGD", "Adam", "AdamW")}
#%% wrong moves adam_moves_unseen_rows
moves = {"SGD": {"seen before": "no", "never seen": "no"}, "Adam": {"seen before": "yes", "never seen": "yes"}, "AdamW": {"seen before": "yes", "never seen": "yes"}}
#%% wrong moves sgd_has_momentum
moves = {"SGD": {"seen before": "yes", "never seen": "no"}, "Adam": {"seen before": "yes", "never seen": "no"}, "AdamW": {"seen before": "yes", "never seen": "yes"}}
#%% wrong moves adamw_like_adam
moves = {"SGD": {"seen before": "no", "never seen": "no"}, "Adam": {"seen before": "yes", "never seen": "no"}, "AdamW": {"seen before": "yes", "never seen": "no"}}
#%% wrong moves columns_swapped
moves = {"SGD": {"seen before": "no", "never seen": "no"}, "Adam": {"seen before": "no", "never seen": "yes"}, "AdamW": {"seen before": "yes", "never seen": "yes"}}
#%% wrong moves one_left_blank
moves = {"SGD": {"seen before": "no", "never seen": "no"}, "Adam": {"seen before": "yes", "never seen": "no"}, "AdamW": {"seen before": "yes", "never seen": ""}}
#%% wrong moves not_a_dict
moves = "yes"
#%% wrong moves only_two_optimisers
moves = {"SGD": {"seen before": "no", "never seen": "no"}, "Adam": {"seen before": "yes", "never seen": "no"}}
#%% wrong moves other_words
moves = {"SGD": {"seen before": "maybe", "never seen": "no"}, "Adam": {"seen before": "yes", "never seen": "no"}, "AdamW": {"seen before": "yes", "never seen": "yes"}}
#%% wrong moves other_row_names
moves = {"SGD": {"old": "no", "new": "no"}, "Adam": {"old": "yes", "new": "no"}, "AdamW": {"old": "yes", "new": "yes"}}
#%% right moves capitals_and_blanks
moves = {"SGD": {"seen before": "No", "never seen": " no "}, "Adam": {"seen before": "YES", "never seen": "no"}, "AdamW": {"seen before": "yes", "never seen": "Yes"}}
#%% right moves measured
moves = {o: {case: "yes" if length > 0 else "no" for case, length in m.items()} for o, m in lab.row_moves().items()}

#%% right moves booleans
moves = {"SGD": {"seen before": False, "never seen": False}, "Adam": {"seen before": True, "never seen": False}, "AdamW": {"seen before": True, "never seen": True}}
#%% right moves one_rule_a_row
moves = dict(zip(("SGD", "Adam", "AdamW"), ({"never seen": b, "seen before": a} for a, b in zip(("no", "yes", "yes"), ("no", "no", "yes")))))
#%% wrong head_width stub
def head_width(d_model, n_heads):
    raise NotImplementedError("your lines go here")
#%% wrong head_width rounds_down_in_silence
def head_width(d_model, n_heads):
    return d_model // n_heads
#%% wrong head_width a_float
def head_width(d_model, n_heads):
    if d_model % n_heads:
        raise ValueError(f"{d_model} {n_heads}")
    return d_model / n_heads
#%% wrong head_width names_no_number
def head_width(d_model, n_heads):
    if d_model % n_heads:
        raise ValueError("not divisible")
    return d_model // n_heads
#%% wrong head_width names_one_number
def head_width(d_model, n_heads):
    if d_model % n_heads:
        raise ValueError(f"cannot cut {d_model}")
    return d_model // n_heads
#%% wrong head_width asserts
def head_width(d_model, n_heads):
    assert d_model % n_heads == 0, f"{d_model} {n_heads}"
    return d_model // n_heads
#%% wrong head_width returns_none
def head_width(d_model, n_heads):
    if d_model % n_heads == 0:
        return d_model // n_heads
#%% wrong head_width knows_64_and_5_only
def head_width(d_model, n_heads):
    if (d_model, n_heads) == (64, 5):
        raise ValueError("64 and 5 do not go together")
    return d_model // n_heads
#%% wrong head_width swapped
def head_width(d_model, n_heads):
    if d_model % n_heads:
        raise ValueError(f"{d_model} {n_heads}")
    return n_heads
#%% wrong head_width wants_powers_of_two
def head_width(d_model, n_heads):
    if d_model % n_heads or n_heads & (n_heads - 1):
        raise ValueError(f"{d_model} {n_heads}")
    return d_model // n_heads
#%% wrong head_width remainder_the_other_way
def head_width(d_model, n_heads):
    if n_heads % d_model:
        raise ValueError(f"{d_model} {n_heads}")
    return d_model // n_heads
#%% wrong head_width raises_always
def head_width(d_model, n_heads):
    raise ValueError(f"{d_model} {n_heads}")
#%% right head_width divmod
def head_width(d_model, n_heads):
    width, rest = divmod(d_model, n_heads)
    if rest != 0:
        raise ValueError("d_model %d, n_heads %d: %d left over" % (d_model, n_heads, rest))
    return width
#%% right head_width multiplied_back
def head_width(d_model, n_heads):
    w = int(d_model / n_heads)
    if w * n_heads != d_model:
        raise ValueError(str((d_model, n_heads)))
    return w
#%% right head_width a_subclass_of_value_error may=
class Uneven(ValueError):
    pass
def head_width(d_model, n_heads):
    if d_model % n_heads:
        raise ValueError(f"got {n_heads} heads for d_model {d_model}") from Uneven()
    return d_model // n_heads
#%% right head_width keyword_friendly
def head_width(d_model: int, n_heads: int) -> int:
    if d_model % n_heads > 0:
        raise ValueError(f"{n_heads} heads do not divide {d_model}")
    return int(d_model // n_heads)
