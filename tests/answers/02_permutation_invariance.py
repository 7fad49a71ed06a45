# Answers to notebook 02, wrong and unusually right, one cell each. A wrong answer fails the graded cells that it
# names (without a name: test_ and the cell's own), and no other. `may`: a consequence that is allowed, not asked for.

#%% wrong shuffle_gap mean_over_tokens
def shuffle_gap(f, x, perm):
    return (f(x).mean(1) - f(x[:, perm]).mean(1)).abs().max().item()

#%% wrong shuffle_gap signed
def shuffle_gap(f, x, perm):
    return (f(x).sum(1) - f(x[:, perm]).sum(1)).max().item()

#%% wrong shuffle_gap signed_the_other_way
def shuffle_gap(f, x, perm):
    return (f(x[:, perm]).sum(1) - f(x).sum(1)).max().item()

#%% wrong shuffle_gap mean_change
def shuffle_gap(f, x, perm):
    return (f(x).sum(1) - f(x[:, perm]).sum(1)).abs().mean().item()

#%% wrong shuffle_gap sum_over_features
def shuffle_gap(f, x, perm):
    return (f(x).sum(2) - f(x[:, perm]).sum(2)).abs().max().item()

#%% wrong shuffle_gap no_sum
def shuffle_gap(f, x, perm):
    return (f(x) - f(x[:, perm])).abs().max().item()

#%% wrong shuffle_gap rows_carried_along
def shuffle_gap(f, x, perm):
    return (f(x)[:, perm] - f(x[:, perm])).abs().max().item()

#%% wrong shuffle_gap output_shuffled_input_not
def shuffle_gap(f, x, perm):
    return (f(x).sum(1) - f(x)[:, perm].sum(1)).abs().max().item()

#%% wrong shuffle_gap sums_everything
def shuffle_gap(f, x, perm):
    return (f(x).sum() - f(x[:, perm]).sum()).abs().item()

#%% wrong shuffle_gap permutes_the_batch
def shuffle_gap(f, x, perm):
    return (f(x).sum(1) - f(x[torch.randperm(len(x))]).sum(1)).abs().max().item()

#%% wrong shuffle_gap permutes_features
def shuffle_gap(f, x, perm):
    return (f(x).sum(1) - f(x[..., torch.arange(x.shape[-1]).flip(0)]).sum(1)).abs().max().item()

#%% wrong shuffle_gap own_shuffle_reversal
def shuffle_gap(f, x, perm):
    return (f(x).sum(1) - f(x.flip(1)).sum(1)).abs().max().item()

#%% wrong shuffle_gap relative
def shuffle_gap(f, x, perm):
    a, b = f(x).sum(1), f(x[:, perm]).sum(1)
    return ((a - b).abs().max() / a.abs().max()).item()

#%% wrong shuffle_gap returns_a_verdict
def shuffle_gap(f, x, perm):
    return torch.allclose(f(x).sum(1), f(x[:, perm]).sum(1), atol=1e-5)

#%% wrong shuffle_gap always_zero
def shuffle_gap(f, x, perm):
    return 0.0

#%% wrong shuffle_gap float32_always
def shuffle_gap(f, x, perm):
    return (f(x.float()).sum(1) - f(x[:, perm].float()).sum(1)).abs().max().item()

#%% wrong shuffle_gap squared
def shuffle_gap(f, x, perm):
    return (f(x).sum(1) - f(x[:, perm]).sum(1)).pow(2).max().item()

#%% wrong shuffle_gap first_feature_only
def shuffle_gap(f, x, perm):
    return (f(x).sum(1) - f(x[:, perm]).sum(1))[0, 0].abs().item()

#%% wrong shuffle_gap shuffles_the_callers_x
def shuffle_gap(f, x, perm):
    x[:] = x[:, perm]
    return (f(x).sum(1) - f(x[:, perm]).sum(1)).abs().max().item()

#%% right shuffle_gap index_select
def shuffle_gap(f, x, perm):
    return float((f(x).sum(dim=1) - f(x.index_select(1, perm)).sum(dim=1)).abs().max())

#%% right shuffle_gap loop
def shuffle_gap(f, x, perm):
    shuffled = torch.stack([x[0, i] for i in perm.tolist()])[None]
    a, b = f(x)[0].sum(0).tolist(), f(shuffled)[0].sum(0).tolist()
    return max(abs(u - v) for u, v in zip(a, b))

#%% right shuffle_gap tensor_returned
def shuffle_gap(f, x, perm):
    with torch.no_grad():
        return torch.linalg.vector_norm(f(x).sum(1) - f(x[:, perm]).sum(1), ord=float("inf"))

#%% right shuffle_gap einsum_and_noise
import warnings, sys
def shuffle_gap(f, x, perm):
    warnings.warn("shuffling"); print("to stderr", file=sys.stderr)
    P = torch.eye(len(perm), dtype=x.dtype)[perm]
    return (torch.einsum("btd->bd", f(x)) - torch.einsum("btd->bd", f(P @ x))).abs().amax().item()

#%% wrong equivariance_gap output_not_moved
def equivariance_gap(f, x, perm):
    return (f(x) - f(x[:, perm])).abs().max().item()

#%% wrong equivariance_gap inverse
def equivariance_gap(f, x, perm):
    return (f(x)[:, perm.argsort()] - f(x[:, perm])).abs().max().item()

#%% wrong equivariance_gap inverse_on_the_input
def equivariance_gap(f, x, perm):
    return (f(x)[:, perm] - f(x[:, perm.argsort()])).abs().max().item()

#%% wrong equivariance_gap output_moved_only
def equivariance_gap(f, x, perm):
    return (f(x)[:, perm] - f(x)).abs().max().item()

#%% wrong equivariance_gap sums
def equivariance_gap(f, x, perm):
    return (f(x)[:, perm].sum(1) - f(x[:, perm]).sum(1)).abs().max().item()

#%% wrong equivariance_gap signed
def equivariance_gap(f, x, perm):
    return (f(x)[:, perm] - f(x[:, perm])).max().item()

#%% wrong equivariance_gap signed_the_other_way
def equivariance_gap(f, x, perm):
    return (f(x[:, perm]) - f(x)[:, perm]).max().item()

#%% wrong equivariance_gap mean
def equivariance_gap(f, x, perm):
    return (f(x)[:, perm] - f(x[:, perm])).abs().mean().item()

#%% wrong equivariance_gap both_sides_shuffled_outside
def equivariance_gap(f, x, perm):
    return (f(x)[:, perm] - f(x)[:, perm]).abs().max().item()

#%% wrong equivariance_gap features
def equivariance_gap(f, x, perm):
    p = torch.arange(x.shape[-1]).flip(0)
    return (f(x)[..., p] - f(x[..., p])).abs().max().item()

#%% wrong equivariance_gap reversal
def equivariance_gap(f, x, perm):
    return (f(x).flip(1) - f(x.flip(1))).abs().max().item()

#%% wrong equivariance_gap sorted_before_comparing
def equivariance_gap(f, x, perm):
    return (f(x).sort(1)[0] - f(x[:, perm]).sort(1)[0]).abs().max().item()

#%% wrong equivariance_gap norm
def equivariance_gap(f, x, perm):
    return (f(x)[:, perm] - f(x[:, perm])).norm().item()

#%% right equivariance_gap undo_instead
def equivariance_gap(f, x, perm):
    return (f(x) - f(x[:, perm])[:, perm.argsort()]).abs().max().item()

#%% right equivariance_gap gather
def equivariance_gap(f, x, perm):
    move = lambda t: t.gather(1, perm[None, :, None].expand_as(t))
    return float((move(f(x)) - f(move(x))).abs().max())

#%% right equivariance_gap matrix
def equivariance_gap(f, x, perm):
    P = torch.eye(len(perm)).to(x)[perm]
    return (P @ f(x) - f(P @ x)).abs().flatten().tolist().__iter__().__class__ and max((P @ f(x) - f(P @ x)).abs().flatten().tolist())

#%% right equivariance_gap loop
def equivariance_gap(f, x, perm):
    a, b, worst = f(x), f(x[:, perm]), 0.0
    for new, old in enumerate(perm.tolist()):
        worst = max(worst, (a[0, old] - b[0, new]).abs().max().item())
    return worst

#%% wrong attend softmax_over_queries
def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-2) @ v

#%% wrong attend no_scale
def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v

#%% wrong attend scaled_by_head_dim
def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1], dim=-1) @ v

#%% wrong attend scaled_by_sqrt_of_tokens
def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-2]), dim=-1) @ v

#%% wrong attend scaled_by_d_model_64
def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(64), dim=-1) @ v

#%% wrong attend multiplied_by_the_root
def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) * math.sqrt(q.shape[-1]), dim=-1) @ v

#%% wrong attend fixed_scale_of_the_example
def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / 2, dim=-1) @ v

#%% wrong attend a_straight_line_through_both_examples
def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) * 5 / (q.shape[-1] + 6), dim=-1) @ v

#%% wrong attend k_as_q
def attend(q, k, v):
    return torch.softmax(k @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1) @ v

#%% wrong attend q_as_k
def attend(q, k, v):
    return torch.softmax(q @ q.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1) @ v

#%% wrong attend q_and_k_exchanged
def attend(q, k, v):
    return torch.softmax(k @ q.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1) @ v

#%% wrong attend v_is_k
def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1) @ k

#%% wrong attend batch_axis
def attend(q, k, v):
    q, k, v = (t.transpose(0, 1) for t in (q, k, v))
    return (torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1) @ v).transpose(0, 1)

#%% wrong attend softmax_over_batch
def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=0) @ v

#%% wrong attend softmax_over_everything
def attend(q, k, v):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return torch.softmax(s.flatten(1), dim=-1).view_as(s) @ v

#%% wrong attend mean_pooling
def attend(q, k, v):
    return v.mean(1, keepdim=True).expand_as(v).clone()

#%% wrong attend always_causal
def attend(q, k, v):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return torch.softmax(s.masked_fill(torch.ones_like(s).triu(1).bool(), -math.inf), dim=-1) @ v

#%% wrong attend mask_transposed
def attend(q, k, v):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return torch.softmax(s.masked_fill(torch.ones_like(s).tril(-1).bool(), -math.inf), dim=-1) @ v

#%% wrong attend weights_transposed
def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1).transpose(-2, -1) @ v

#%% wrong attend dropout_left_on may=test_multihead
def attend(q, k, v):
    w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
    return torch.nn.functional.dropout(w, 0.1, training=True) @ v

#%% wrong attend small_positions_inside
def attend(q, k, v):
    q = q + 0.02 * torch.arange(q.shape[1])[:, None]
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1) @ v

#%% wrong attend no_softmax
def attend(q, k, v):
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) @ v

#%% wrong attend hard_choice
def attend(q, k, v):
    s = q @ k.transpose(-2, -1)
    return torch.nn.functional.one_hot(s.argmax(-1), s.shape[-1]).to(v) @ v

#%% wrong attend divides_q_in_place
def attend(q, k, v):
    q /= math.sqrt(q.shape[-1])
    return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v

#%% wrong attend identity
def attend(q, k, v):
    return v.clone()

#%% wrong attend first_sentence_only
def attend(q, k, v):
    w = torch.softmax(q[0] @ k[0].T / math.sqrt(q.shape[-1]), dim=-1)
    return w @ v

#%% wrong attend from_lab loses=test_attend,test_multihead
attend = lab.BlackBox(8, 2)

#%% right attend sdpa
def attend(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)

#%% right attend einsum
def attend(q, k, v):
    w = torch.einsum("...id,...jd->...ij", q * q.shape[-1] ** -0.5, k).softmax(-1)
    return torch.einsum("...ij,...jd->...id", w, v)

#%% right attend loop_over_queries
def attend(q, k, v):
    if q.ndim == 4:
        return torch.stack([attend(q[:, h], k[:, h], v[:, h]) for h in range(q.shape[1])], 1)
    out = torch.zeros_like(v)
    for b in range(len(q)):
        for i in range(q.shape[1]):
            s = torch.tensor([float(q[b, i].double() @ k[b, j].double()) / q.shape[-1] ** 0.5 for j in range(k.shape[1])])
            w = torch.exp(s - s.max()); w = w / w.sum()
            out[b, i] = sum(w[j] * v[b, j] for j in range(len(w)))
    return out

#%% right attend torch_multihead
def attend(q, k, v):
    D, lead = q.shape[-1], q.shape[:-2]
    m = torch.nn.MultiheadAttention(D, 1, bias=False, batch_first=True).eval()
    with torch.no_grad():
        m.in_proj_weight.copy_(torch.eye(D).repeat(3, 1)); m.out_proj.weight.copy_(torch.eye(D))
        q, k, v = (t.reshape(-1, *t.shape[-2:]) for t in (q, k, v))
        return m(q, k, v)[0].reshape(*lead, -1, D)

#%% right attend float64_inside_and_bmm
def attend(q, k, v):
    shape = v.shape
    q, k, v = (t.reshape(-1, *t.shape[-2:]).double() for t in (q, k, v))
    s = torch.bmm(q, k.transpose(1, 2)).div(q.size(-1) ** 0.5)
    return torch.bmm(s.exp() / s.exp().sum(-1, keepdim=True), v).float().view(shape)

#%% right attend three_axes_only
def attend(q, k, v):
    assert q.ndim == 3
    return (q.bmm(k.mT) / q.shape[2] ** 0.5).softmax(2).bmm(v)

#%% wrong is_permutation_invariant permutes_the_batch loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x = torch.randn(1, seq, d_model)
        if (f(x).sum(1) - f(x[torch.randperm(1)]).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant permutes_features loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x = torch.randn(1, seq, d_model)
        if (f(x).sum(1) - f(x[..., torch.randperm(d_model)]).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant place_by_place loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if (f(x) - f(x[:, p])).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant equivariance_instead loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        a, b = f(x), f(x[:, p])
        if a.shape[1] == seq: a = a[:, p]
        if (a - b).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant identity_permutation loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.arange(seq)
        if (f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant atol_1 loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if not torch.allclose(f(x).sum(1), f(x[:, p]).sum(1), atol=1): return False
    return True

#%% wrong is_permutation_invariant shapes_only loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
    return f(x).shape == f(x[:, p]).shape

#%% wrong is_permutation_invariant means_only loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if (f(x).mean() - f(x[:, p]).mean()).abs() > 1e-5: return False
    return True

#%% wrong is_permutation_invariant train_mode loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    f.train()
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if (f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant constant_tokens loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, 1, d_model).expand(1, seq, d_model), torch.randperm(seq)
        if (f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant ones loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    x = torch.ones(1, seq, d_model)
    return all((f(x).sum(1) - f(x[:, torch.randperm(seq)]).sum(1)).abs().max().item() < 1e-4 for _ in range(trials))

#%% wrong is_permutation_invariant reversal_only loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x = torch.randn(1, seq, d_model)
        if (f(x).sum(1) - f(x.flip(1)).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant rolls_only loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for t in range(trials):
        x = torch.randn(1, seq, d_model)
        if (f(x).sum(1) - f(x.roll(1 + t % (seq - 1), 1)).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant first_two_swapped loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    p = torch.arange(seq); p[0], p[1] = 1, 0
    for _ in range(trials):
        x = torch.randn(1, seq, d_model)
        if (f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant first_three_turned loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    p = torch.tensor([1, 2, 0, *range(3, seq)])
    for _ in range(trials):
        x = torch.randn(1, seq, d_model)
        if (f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant exact_comparison loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if not bool((f(x).sum(1) == f(x[:, p]).sum(1)).all()): return False
    return True

#%% wrong is_permutation_invariant allclose_default loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if not torch.allclose(f(x).sum(1), f(x[:, p]).sum(1)): return False
    return True

#%% wrong is_permutation_invariant places_zeroed loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for name, t in vars(f).items():
        if isinstance(t, torch.Tensor) and t.is_floating_point(): t.zero_()
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if (f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant always_true loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    return True

#%% wrong is_permutation_invariant always_false loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    return False

#%% wrong is_permutation_invariant outputs_shuffled_inputs_not loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x = torch.randn(1, seq, d_model); y = f(x); p = torch.randperm(y.shape[1])
        if (y.sum(1) - y[:, p].sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant one_trial loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
    return bool((f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() < 1e-4)

#%% wrong is_permutation_invariant any_trial_will_do loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if (f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() < 1e-4: return True
    return False

#%% wrong is_permutation_invariant one_x_for_all_trials loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    x = torch.randn(1, seq, d_model)
    return all((f(x).sum(1) - f(x[:, torch.randperm(seq)]).sum(1)).abs().max().item() < 1e-4 for _ in range(trials))

#%% wrong is_permutation_invariant sizes_fixed loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, 7, 16), torch.randperm(7)
        if (f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant trials_ignored loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(2):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if (f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant sum_over_features loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if (f(x).sum(2) - f(x[:, p]).sum(2)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant gap_returned loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    return max((lambda x: (f(x).sum(1) - f(x[:, torch.randperm(seq)]).sum(1)).abs().max().item())(torch.randn(1, seq, d_model)) for _ in range(trials))

#%% wrong is_permutation_invariant turned_round loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    return any(shuffle_gap(f, torch.randn(1, seq, d_model), torch.randperm(seq)) > 1e-4 for _ in range(trials))

#%% wrong is_permutation_invariant three_trials_whatever_is_asked loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(3):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if (f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() > 1e-4: return False
    return True

#%% wrong is_permutation_invariant the_majority_of_trials loses=invariance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    moved = 0
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        moved += bool((f(x).sum(1) - f(x[:, p]).sum(1)).abs().max() > 1e-4)
    return moved <= 3 * trials // 4

#%% right is_permutation_invariant with_shuffle_gap
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    return all(shuffle_gap(f, torch.randn(1, seq, d_model), torch.randperm(seq)) < 1e-3 for _ in range(trials))

#%% right is_permutation_invariant starter_tolerance
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, perm = torch.rand(1, seq, d_model), torch.randperm(seq)
        if not torch.allclose(f(x).sum(1), f(x[:, perm]).sum(1), atol=1e-5):
            return False
    return True

#%% right is_permutation_invariant float64_numpy_bool
import numpy
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    f.eval()
    changes = []
    for t in range(3 * trials):
        x, perm = torch.randn(1, seq, d_model, dtype=torch.float64), torch.tensor(numpy.random.permutation(seq))
        changes.append((f(x).sum(1) - f(x[:, perm]).sum(1)).abs().max().item())
    return numpy.bool_(max(changes) < 1e-3)

#%% right is_permutation_invariant own_generator_never_the_identity
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    g, worst = torch.Generator().manual_seed(1), torch.tensor(0.0)
    for _ in range(trials):
        x, perm = 2 * torch.rand(1, seq, d_model, generator=g) - 1, torch.randperm(seq, generator=g)
        while (perm == torch.arange(seq)).all():
            perm = torch.randperm(seq, generator=g)
        a, b = f(x), f(x[:, perm])
        worst = torch.maximum(worst, (a.sum(1) - b.sum(1)).abs().max() / a.abs().max())
    return worst < 1e-4

#%% right is_permutation_invariant batch_of_trials
def is_permutation_invariant(f, seq=7, d_model=16, trials=8):
    x = torch.randn(trials, seq, d_model)
    y = torch.stack([row[torch.randperm(seq)] for row in x])
    return bool(all((f(a[None]).sum(1) - f(b[None]).sum(1)).abs().max() < 1e-3 for a, b in zip(x, y)))

#%% wrong proof false_line_in
proof = ["E", "B", "G", "C", "F", "D"]

#%% wrong proof all_seven
proof = ["E", "B", "G", "A", "C", "F", "D"]

#%% wrong proof scores_before_qkv
proof = ["E", "G", "B", "A", "F", "D"]

#%% wrong proof softmax_before_scores
proof = ["E", "B", "A", "G", "F", "D"]

#%% wrong proof output_before_weights
proof = ["E", "B", "G", "F", "A", "D"]

#%% wrong proof sum_first
proof = ["D", "E", "B", "G", "A", "F"]

#%% wrong proof p_not_first
proof = ["B", "E", "G", "A", "F", "D"]

#%% wrong proof turned_round
proof = ["D", "F", "A", "G", "B", "E"]

#%% wrong proof line_missing
proof = ["E", "B", "G", "A", "D"]

#%% wrong proof line_twice
proof = ["E", "B", "G", "A", "F", "F"]

#%% wrong proof as_listed
proof = ["A", "B", "D", "E", "F", "G"]

#%% wrong proof unanswered
proof = []

#%% wrong proof numbers
proof = [5, 2, 7, 1, 6, 4]

#%% right proof tuple
proof = ("E", "B", "G", "A", "F", "D")

#%% right proof lower_case
proof = list("ebgafd")

#%% right proof built
proof = "E B G A F D".split()

#%% right proof with_spaces
proof = ["E ", " B", "G", "A", "F", "D "]

#%% wrong impostor really_attention
def impostor(x):
    return attend(x, x, x)

#%% wrong impostor mean_pool
def impostor(x):
    return x.mean(1, keepdim=True).expand_as(x)

#%% wrong impostor sees_order
def impostor(x):
    return x.cumsum(1)

#%% wrong impostor positions
def impostor(x):
    return torch.tanh(x + torch.arange(5.)[:, None])

#%% wrong impostor small_positions
def impostor(x):
    return torch.tanh(x * (1 + 1e-3 * torch.arange(5.)[:, None]))

#%% wrong impostor wrong_shape
def impostor(x):
    return x.sum(1)

#%% wrong impostor first_token
def impostor(x):
    return x[:, :1].expand_as(x).clone()

#%% wrong impostor noise
def impostor(x):
    return x + torch.randn_like(x)

#%% wrong impostor minus_the_mean
def impostor(x):
    return x - x.mean(1, keepdim=True)

#%% wrong impostor even_attention
def impostor(x):
    return torch.nn.functional.scaled_dot_product_attention(0 * x, x, x)

#%% wrong impostor list
def impostor(x):
    return x.tolist()

#%% wrong impostor causal
def impostor(x):
    return torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)

#%% right impostor identity
def impostor(x):
    return x

#%% right impostor zeros
impostor = torch.zeros_like

#%% right impostor mlp
impostor = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)).eval()

#%% right impostor reversed
def impostor(x):
    return x.flip(1)

#%% right impostor sorted
def impostor(x):
    return torch.sort(x, dim=1).values

#%% right impostor attention_over_the_batch
def impostor(x):
    y = x.transpose(0, 1)
    return attend(y, y, y).transpose(0, 1)

#%% right impostor rolled
def impostor(x):
    return x.roll(2, dims=1) * 0.5

#%% wrong split_heads view_without_transpose loses=test_heads
def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, n_heads, T, D // n_heads)

def merge_heads(x):
    return x.transpose(1, 2).flatten(2)

#%% wrong split_heads merge_without_transpose loses=test_heads
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)

def merge_heads(x):
    B, H, T, Dh = x.shape
    return x.reshape(B, T, H * Dh)

#%% wrong split_heads both_by_view loses=test_heads
def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, n_heads, T, D // n_heads)

def merge_heads(x):
    B, H, T, Dh = x.shape
    return x.reshape(B, T, H * Dh)

#%% wrong split_heads features_dealt_out loses=test_heads
def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, D // n_heads, n_heads).permute(0, 3, 1, 2)

def merge_heads(x):
    return x.permute(0, 2, 3, 1).flatten(2)

#%% wrong split_heads no_axis_moved loses=test_heads may=test_multihead
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1))

def merge_heads(x):
    return x.flatten(2)

#%% wrong split_heads head_dim_and_heads_mixed_up loses=test_heads may=test_multihead
def split_heads(x, n_heads):
    return x.unflatten(-1, (-1, n_heads)).transpose(1, 2)

def merge_heads(x):
    return x.transpose(1, 2).flatten(2)

#%% wrong split_heads heads_in_front loses=test_heads may=test_multihead
def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, -1))

def merge_heads(x):
    return torch.cat(list(x), -1)

#%% wrong split_heads merge_swaps_heads loses=test_heads
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)

def merge_heads(x):
    return x.flip(1).transpose(1, 2).flatten(2)

#%% wrong split_heads merge_sums loses=test_heads may=test_multihead
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)

def merge_heads(x):
    return x.mean(1).repeat(1, 1, x.shape[1])

#%% wrong split_heads sizes_of_one_example loses=test_heads may=test_multihead
def split_heads(x, n_heads):
    return x.view(-1, 5, 4, 3).transpose(1, 2)

def merge_heads(x):
    return x.transpose(1, 2).reshape(-1, 5, 12)

#%% wrong split_heads first_sentence loses=test_heads may=test_multihead
def split_heads(x, n_heads):
    return x[:1].expand_as(x).unflatten(-1, (n_heads, -1)).transpose(1, 2)

def merge_heads(x):
    return x.transpose(1, 2).flatten(2)

#%% wrong split_heads merge_by_einsum_of_features loses=test_heads
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)

def merge_heads(x):
    return x.permute(0, 2, 3, 1).flatten(2)

#%% right split_heads chunks
def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)

def merge_heads(x):
    return torch.cat(x.unbind(1), dim=-1)

#%% right split_heads permute_contiguous
def split_heads(x, n_heads):
    b, t, d = x.size()
    return x.contiguous().view(b, t, n_heads, d // n_heads).permute(0, 2, 1, 3).contiguous()

def merge_heads(x):
    b, h, t, w = x.size()
    return x.permute(0, 2, 1, 3).reshape(b, t, h * w)

#%% right split_heads loops
def split_heads(x, n_heads):
    w = x.shape[-1] // n_heads
    out = x.new_zeros(x.shape[0], n_heads, x.shape[1], w)
    for h in range(n_heads):
        out[:, h] = x[:, :, h * w:(h + 1) * w]
    return out

def merge_heads(x):
    out = x.new_zeros(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])
    for h in range(x.shape[1]):
        out[:, :, h * x.shape[3]:(h + 1) * x.shape[3]] = x[:, h]
    return out

#%% right split_heads swapaxes
def split_heads(x, n_heads):
    return x.unflatten(2, (n_heads, x.shape[2] // n_heads)).swapaxes(1, 2)

def merge_heads(x):
    return torch.einsum("bhtd->bthd", x).flatten(-2)

#%% wrong multihead view_without_transpose
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.out = (torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (p(x).view(B, self.n_heads, T, -1) for p in (self.q, self.k, self.v))
        return self.out(attend(q, k, v).transpose(1, 2).reshape(B, T, D))

#%% wrong multihead merge_without_transpose
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.out = (torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x):
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q, self.k, self.v))
        return self.out(attend(q, k, v).reshape(x.shape))

#%% wrong multihead one_head_only
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.q, self.k, self.v, self.out = (torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x):
        return self.out(attend(self.q(x), self.k(x), self.v(x)))

#%% wrong multihead scaled_by_d_model
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.out = (torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x):
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q, self.k, self.v))
        return self.out(merge_heads((q @ k.mT / x.shape[-1] ** 0.5).softmax(-1) @ v))

#%% wrong multihead no_scale
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.out = (torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x):
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q, self.k, self.v))
        return self.out(merge_heads((q @ k.mT).softmax(-1) @ v))

#%% wrong multihead k_as_q
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.out = (torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x):
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.k, self.k, self.v))
        return self.out(merge_heads(attend(q, k, v)))

#%% wrong multihead v_is_k
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.out = (torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x):
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q, self.k, self.k))
        return self.out(merge_heads(attend(q, k, v)))

#%% wrong multihead no_output_map
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.out = (torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x):
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q, self.k, self.v))
        return merge_heads(attend(q, k, v))

#%% wrong multihead softmax_over_queries
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.out = (torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x):
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q, self.k, self.v))
        return self.out(merge_heads((q @ k.mT / q.shape[-1] ** 0.5).softmax(-2) @ v))

#%% wrong multihead causal
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.out = (torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x):
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q, self.k, self.v))
        return self.out(merge_heads(torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)))

#%% wrong multihead batch_axis
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.m = torch.nn.MultiheadAttention(d_model, n_heads, bias=False)      # batch_first left out
    def forward(self, x):
        return self.m(x, x, x)[0]

#%% wrong multihead positions_inside
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.m = torch.nn.MultiheadAttention(d_model, n_heads, bias=False, batch_first=True)
    def forward(self, x):
        x = x + 0.02 * torch.arange(x.shape[1])[:, None]
        return self.m(x, x, x)[0]

#%% wrong multihead dropout_left_on
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.m = torch.nn.MultiheadAttention(d_model, n_heads, dropout=0.1, bias=False, batch_first=True)
    def forward(self, x):
        self.m.train()
        return self.m(x, x, x)[0]

#%% wrong multihead weights_not_registered
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.maps = n_heads, [torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4)]
    def forward(self, x):
        q, k, v = (split_heads(p(x), self.n_heads) for p in self.maps[:3])
        return self.maps[3](merge_heads(attend(q, k, v)))

#%% wrong multihead mean_pooling
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.q, self.k, self.v, self.out = (torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x):
        return self.out(self.v(x).mean(1, keepdim=True).expand_as(x))

#%% wrong multihead from_lab
MultiHead = lab.BlackBox

#%% wrong multihead frozen_by_no_grad
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.m = torch.nn.MultiheadAttention(d_model, n_heads, bias=False, batch_first=True)
    def forward(self, x):
        with torch.no_grad():
            return self.m(x, x, x)[0]

#%% right multihead torch_module
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.inner = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]

#%% right multihead one_wide_map
class MultiHead(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.back = heads, torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        return self.back(torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))

#%% right multihead one_wide_map_head_by_head
class MultiHead(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.back = heads, torch.nn.Linear(width, 3 * width, bias=False), torch.nn.Linear(width, width, bias=False)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, self.heads, 3, -1).permute(3, 0, 2, 1, 4)
        return self.back(torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))

#%% right multihead bare_parameters
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n = n_heads
        self.w = torch.nn.ParameterDict({c: torch.nn.Parameter(torch.randn(d_model, d_model) / d_model ** 0.5) for c in "qkvo"})
    def forward(self, x):
        q, k, v = (split_heads(x @ self.w[c], self.n) for c in "qkv")
        return merge_heads(attend(q, k, v)) @ self.w["o"]

#%% right multihead loop_over_heads
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.query, self.key, self.value, self.proj = (torch.nn.Linear(d_model, d_model) for _ in range(4))
    def forward(self, x):
        parts = [p(x).chunk(self.n_heads, -1) for p in (self.query, self.key, self.value)]
        return self.proj(torch.cat([attend(q, k, v) for q, k, v in zip(*parts)], -1))

#%% right multihead small_maps_for_each_head
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        w = d_model // n_heads
        self.maps = torch.nn.ModuleList(torch.nn.ModuleList(torch.nn.Linear(d_model, w, bias=False) for _ in range(3)) for _ in range(n_heads))
        self.out = torch.nn.Linear(d_model, d_model)
    def forward(self, x):
        return self.out(torch.cat([attend(*(m(x) for m in head)) for head in self.maps], -1))

#%% right multihead functional
def MultiHead(d_model, n_heads):
    maps = [torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4)]
    def forward(x):
        q, k, v = (split_heads(m(x), n_heads) for m in maps[:3])
        return maps[3](merge_heads(attend(q, k, v)))
    return forward

#%% wrong hardened absolute_tolerance loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    return all(shuffle_gap(f, torch.randn(1, seq, d_model), torch.randperm(seq)) < 1e-4 for _ in range(trials))

#%% wrong hardened starter_tolerance loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        if not torch.allclose(f(x).sum(1).double(), f(x[:, p]).sum(1).double(), atol=1e-5): return False
    return True

#%% wrong hardened wide_tolerance loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    return all(shuffle_gap(f, torch.randn(1, seq, d_model), torch.randperm(seq)) < 1e-2 for _ in range(trials))

#%% wrong hardened relative_to_the_sum loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        a, b = f(x).sum(1), f(x[:, p]).sum(1)
        if (a - b).abs().max() > 1e-4 * a.abs().max(): return False
    return True

#%% wrong hardened zeros_divided loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        a, b = f(x), f(x[:, p])
        if not (a.sum(1) - b.sum(1)).abs().max() / a.abs().max() < 1e-4: return False
    return True

#%% wrong hardened strictly_smaller_than_zero loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        a, b = f(x), f(x[:, p])
        if not (a.sum(1) - b.sum(1)).abs().max() < 1e-4 * a.abs().max(): return False
    return True

#%% wrong hardened float64_tolerance loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        a, b = f(x), f(x[:, p])
        if (a.sum(1) - b.sum(1)).abs().max() > 1e-10 * a.abs().max(): return False
    return True

#%% wrong hardened train_mode loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    f.train()
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        a, b = f(x), f(x[:, p])
        if (a.sum(1) - b.sum(1)).abs().max() > 1e-4 * a.abs().max(): return False
    return True

#%% wrong hardened batch_shuffle loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(4, seq, d_model), torch.randperm(4)
        a, b = f(x), f(x[p])
        if (a.sum(1)[p] - b.sum(1)).abs().max() > 1e-4 * a.abs().max(): return False
    return True

#%% wrong hardened reversal_only loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x = torch.randn(1, seq, d_model)
        a, b = f(x), f(x.flip(1))
        if (a.sum(1) - b.sum(1)).abs().max() > 1e-4 * a.abs().max(): return False
    return True

#%% wrong hardened one_trial loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
    a, b = f(x), f(x[:, p])
    return bool((a.sum(1) - b.sum(1)).abs().max() <= 1e-4 * a.abs().max())

#%% wrong hardened equivariance_instead loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        a, b = f(x), f(x[:, p])
        if a.shape != x.shape or (a[:, p] - b).abs().max() > 1e-4 * a.abs().max(): return False
    return True

#%% wrong hardened forgives_a_tenth loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        a, b = f(x), f(x[:, p])
        if (a.sum(1) - b.sum(1)).abs().max() > 0.5 * a.abs().max(): return False
    return True

#%% wrong hardened constant_tokens loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x, p = torch.randn(1, 1, d_model).repeat(1, seq, 1), torch.randperm(seq)
        a, b = f(x), f(x[:, p])
        if (a.sum(1) - b.sum(1)).abs().max() > 1e-4 * a.abs().max(): return False
    return True

#%% wrong hardened the_median_of_trials loses=test_harder_jury
def hardened(f, seq=7, d_model=16, trials=8):
    changes = []
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        a, b = f(x), f(x[:, p])
        changes.append(((a.double().sum(1) - b.double().sum(1)).abs().max() / a.double().abs().max().clamp(min=1e-30)).item())
    return sorted(changes)[trials // 4] <= 1e-4

#%% right hardened ratio_with_a_floor
def hardened(f, seq=7, d_model=16, trials=8):
    worst = 0.0
    for _ in range(trials):
        x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
        a, b = f(x).double(), f(x[:, p]).double()
        worst = max(worst, float((a.sum(1) - b.sum(1)).abs().max() / a.abs().max().clamp(min=1e-30)))
    return worst < 1e-3

#%% right hardened output_scaled_first
def hardened(f, seq=7, d_model=16, trials=8):
    for _ in range(trials):
        x = torch.rand(1, seq, d_model) * 2 - 1
        y = x[:, torch.randperm(seq)]
        a, b = f(x), f(y)
        size = a.abs().max() or torch.tensor(1.0)
        if not torch.allclose((a / size).sum(1), (b / size).sum(1), rtol=0, atol=1e-4): return False
    return True

#%% right hardened relative_to_the_mean_size
def hardened(f, seq=7, d_model=16, trials=8):
    with torch.no_grad():
        for _ in range(2 * trials):
            x, p = torch.randn(1, seq, d_model), torch.randperm(seq)
            a, b = f(x), f(x[:, p])
            if (a.sum(1) - b.sum(1)).abs().max() > 1e-3 * a.abs().mean(): return False
    return True

#%% right hardened float64_tokens
def hardened(f, seq=7, d_model=16, trials=8):
    def change(x, p):
        a, b = f(x), f(x[:, p])
        return bool((a.sum(1) - b.sum(1)).abs().max() <= 1e-4 * torch.linalg.vector_norm(a, float("inf")))
    return all(change(torch.randn(1, seq, d_model, dtype=torch.float64), torch.randperm(seq)) for _ in range(trials))
