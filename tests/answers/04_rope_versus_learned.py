"""Answers for 04: wrong ones that must lose their cell, unusual right ones that must keep every point."""
# ---------------------------------------------------------------- 04.2 rotate_pair
#%% wrong rotate_pair degrees
def rotate_pair(xy, angle):
    x, y, a = xy[..., 0], xy[..., 1], torch.deg2rad(angle)
    return torch.stack([x * a.cos() - y * a.sin(), x * a.sin() + y * a.cos()], -1)
#%% wrong rotate_pair clockwise
def rotate_pair(xy, angle):
    x, y = xy[..., 0], xy[..., 1]
    return torch.stack([x * angle.cos() + y * angle.sin(), y * angle.cos() - x * angle.sin()], -1)
#%% wrong rotate_pair two_plus_signs
def rotate_pair(xy, angle):
    x, y = xy[..., 0], xy[..., 1]
    return torch.stack([x * angle.cos() + y * angle.sin(), x * angle.sin() + y * angle.cos()], -1)
#%% wrong rotate_pair two_minus_signs
def rotate_pair(xy, angle):
    x, y = xy[..., 0], xy[..., 1]
    return torch.stack([x * angle.cos() - y * angle.sin(), x * angle.sin() - y * angle.cos()], -1)
#%% wrong rotate_pair sin_and_cos_swapped
def rotate_pair(xy, angle):
    x, y = xy[..., 0], xy[..., 1]
    return torch.stack([x * angle.sin() - y * angle.cos(), x * angle.cos() + y * angle.sin()], -1)
#%% wrong rotate_pair second_term_dropped
def rotate_pair(xy, angle):
    return xy * torch.stack([angle.cos(), angle.cos()], -1)
#%% wrong rotate_pair overwritten
def rotate_pair(xy, angle):
    xy = xy.clone()
    xy[..., 0] = xy[..., 0] * angle.cos() - xy[..., 1] * angle.sin()
    xy[..., 1] = xy[..., 0] * angle.sin() + xy[..., 1] * angle.cos()
    return xy
#%% wrong rotate_pair in_place
def rotate_pair(xy, angle):
    x, y = xy[..., 0].clone(), xy[..., 1].clone()
    xy[..., 0] = x * angle.cos() - y * angle.sin()
    xy[..., 1] = x * angle.sin() + y * angle.cos()
    return xy
#%% wrong rotate_pair detached
def rotate_pair(xy, angle):
    x, y = xy.detach()[..., 0], xy.detach()[..., 1]
    return torch.stack([x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()], -1)
#%% wrong rotate_pair zipped_on_the_wrong_axis
def rotate_pair(xy, angle):
    x, y = xy[..., 0], xy[..., 1]
    return torch.stack([x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()], 0)
#%% wrong rotate_pair first_angle_for_all
def rotate_pair(xy, angle):
    x, y, a = xy[..., 0], xy[..., 1], angle.flatten()[0]
    return torch.stack([x * a.cos() - y * a.sin(), x * a.sin() + y * a.cos()], -1)
#%% wrong rotate_pair does_nothing
def rotate_pair(xy, angle):
    return xy.clone()
#%% wrong rotate_pair length_thrown_away
def rotate_pair(xy, angle):
    a = torch.atan2(xy[..., 1], xy[..., 0]) + angle
    return torch.stack([a.cos(), a.sin()], -1)
#%% wrong rotate_pair small_angles_only
def rotate_pair(xy, angle):
    x, y = xy[..., 0], xy[..., 1]
    return torch.stack([x - y * angle, y + x * angle], -1)
#%% wrong rotate_pair stub
def rotate_pair(xy, angle):
    raise NotImplementedError("your lines here")
#%% right rotate_pair complex
def rotate_pair(xy, angle):
    return torch.view_as_real(torch.view_as_complex(xy.contiguous()) * torch.polar(torch.ones_like(angle), angle))
#%% right rotate_pair matrices
def rotate_pair(xy, angle):
    c, s = torch.cos(angle), torch.sin(angle)
    m = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
    return torch.einsum("...ij,...j->...i", m, xy)
#%% right rotate_pair length_and_direction
def rotate_pair(xy, angle):
    r, a = xy.norm(dim=-1), torch.atan2(xy[..., 1], xy[..., 0]) + angle
    return torch.stack([r * a.cos(), r * a.sin()], -1)
#%% right rotate_pair keeping_the_axis
import warnings
def rotate_pair(xy, angle):
    warnings.warn("turning"); print("turning")
    a = angle[..., None]
    return xy * a.cos() + torch.cat([-xy[..., 1:], xy[..., :1]], -1) * a.sin()
# ---------------------------------------------------------------- 04.4 rope_frequencies
#%% wrong rope_frequencies exponent_half
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), base ** (-torch.arange(head_dim // 2) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies exponent_double may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), base ** (-4 * torch.arange(head_dim // 2) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies exponent_odd may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), base ** (-(2 * torch.arange(head_dim // 2) + 1) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies exponent_sign may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), base ** (torch.arange(0, head_dim, 2) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies pairs_counted_from_1 may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), base ** (-2 * torch.arange(1, head_dim // 2 + 1) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies linspace_to_the_end may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), base ** -torch.linspace(0, 1, head_dim // 2))
    return a.cos(), a.sin()
#%% wrong rope_frequencies base_1000
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), 1000.0 ** (-torch.arange(0, head_dim, 2) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies base_ignored
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), 10000.0 ** (-torch.arange(0, head_dim, 2) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies the_two_bases_of_the_check
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    speed = (100.0 if base < 1000 else 10000.0) ** (-torch.arange(0, head_dim, 2, device=device).float() / head_dim)
    angle = torch.outer(torch.arange(seq_len, device=device).float(), speed)
    return angle.cos(), angle.sin()
#%% wrong rope_frequencies one_speed may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.arange(seq_len).float()[:, None].expand(seq_len, head_dim // 2)
    return a.cos(), a.sin()
#%% wrong rope_frequencies degrees may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.deg2rad(torch.outer(torch.arange(seq_len).float(), base ** (-torch.arange(0, head_dim, 2) / head_dim)))
    return a.cos(), a.sin()
#%% wrong rope_frequencies positions_from_1
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(1, seq_len + 1).float(), base ** (-torch.arange(0, head_dim, 2) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies sin_and_cos_swapped
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), base ** (-torch.arange(0, head_dim, 2) / head_dim))
    return a.sin(), a.cos()
#%% wrong rope_frequencies minus_sin
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), base ** (-torch.arange(0, head_dim, 2) / head_dim))
    return a.cos(), -a.sin()
#%% wrong rope_frequencies full_width_tables may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), base ** (-torch.arange(0, head_dim, 2) / head_dim)).repeat_interleave(2, -1)
    return a.cos(), a.sin()
#%% wrong rope_frequencies transposed may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(base ** (-torch.arange(0, head_dim, 2) / head_dim), torch.arange(seq_len).float())
    return a.cos(), a.sin()
#%% wrong rope_frequencies wraps_at_64 may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float() % 64, base ** (-torch.arange(0, head_dim, 2) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies clamps_at_512
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float().clamp(max=512), base ** (-torch.arange(0, head_dim, 2) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies half_precision_angles may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), base ** (-torch.arange(0, head_dim, 2) / head_dim)).half().float()
    return a.cos(), a.sin()
#%% wrong rope_frequencies bfloat_positions may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).bfloat16(), (base ** (-torch.arange(0, head_dim, 2) / head_dim)).bfloat16()).float()
    return a.cos(), a.sin()
#%% wrong rope_frequencies last_position_first may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float().flip(0), base ** (-torch.arange(0, head_dim, 2) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies positions_divided_by_length may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float() / seq_len, base ** (-torch.arange(0, head_dim, 2) / head_dim))
    return a.cos(), a.sin()
#%% wrong rope_frequencies stale_cache may=extrapolation
kept = {}
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    if (head_dim, base) not in kept:
        a = torch.outer(torch.arange(seq_len).float(), base ** (-torch.arange(0, head_dim, 2) / head_dim))
        kept[head_dim, base] = a.cos(), a.sin()
    return tuple(t[:seq_len] for t in kept[head_dim, base])
#%% wrong rope_frequencies cache_forgets_the_base
kept = {}
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    if (head_dim, seq_len) not in kept:
        a = torch.outer(torch.arange(seq_len).float(), base ** (-torch.arange(0, head_dim, 2) / head_dim))
        kept[head_dim, seq_len] = a.cos(), a.sin()
    return kept[head_dim, seq_len]
#%% wrong rope_frequencies speeds_in_reverse
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), (base ** (-torch.arange(0, head_dim, 2) / head_dim)).flip(0))
    return a.cos(), a.sin()
#%% wrong rope_frequencies angles_instead_of_cos_and_sin may=extrapolation
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len).float(), base ** (-torch.arange(0, head_dim, 2) / head_dim))
    return a, a
#%% right rope_frequencies exp_log
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    import math
    speed = torch.exp(-math.log(base) * torch.arange(0, head_dim, 2) / head_dim)
    a = torch.arange(seq_len)[:, None] * speed
    return a.cos(), a.sin()
#%% right rope_frequencies double_cast_down
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len, dtype=torch.float64), base ** (-torch.arange(head_dim // 2, dtype=torch.float64) / (head_dim // 2)))
    return a.cos().float(), a.sin().float()
#%% right rope_frequencies double_left_double
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len, dtype=torch.float64), base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim))
    return a.cos(), a.sin()
#%% right rope_frequencies loops_in_a_list
import math
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    angle = [[m * base ** (-2 * i / head_dim) for i in range(head_dim // 2)] for m in range(seq_len)]
    return [torch.tensor([[f(a) for a in row] for row in angle], device=device) for f in (math.cos, math.sin)]
#%% right rope_frequencies polar_and_a_good_cache
import functools
@functools.lru_cache
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    a = torch.outer(torch.arange(seq_len, device=device, dtype=torch.float32), 1.0 / base ** (torch.arange(0, head_dim, 2, device=device) / head_dim))
    z = torch.polar(torch.ones_like(a), a)
    return z.real, z.imag
# ---------------------------------------------------------------- 04.5 apply_rope
#%% wrong apply_rope half_split
def apply_rope(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)
#%% wrong apply_rope half_split_rotate_half_style
def apply_rope(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * torch.cat((cos, cos), -1) + torch.cat((-b, a), -1) * torch.cat((sin, sin), -1)
#%% wrong apply_rope interleaved_tables_half_rotation may=extrapolation
def apply_rope(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos.repeat_interleave(2, -1) + torch.cat((-b, a), -1) * sin.repeat_interleave(2, -1)
#%% wrong apply_rope half_tables_interleaved_rotation may=extrapolation
def apply_rope(x, cos, sin):
    flipped = torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)
    return x * torch.cat((cos, cos), -1) + flipped * torch.cat((sin, sin), -1)
#%% wrong apply_rope zipped_by_cat
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)
#%% wrong apply_rope clockwise
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, b * cos - a * sin), -1).flatten(-2)
#%% wrong apply_rope two_plus_signs may=extrapolation
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, a * sin + b * cos), -1).flatten(-2)
#%% wrong apply_rope two_minus_signs may=extrapolation
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin - b * cos), -1).flatten(-2)
#%% wrong apply_rope sin_and_cos_swapped may=extrapolation
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * sin - b * cos, a * cos + b * sin), -1).flatten(-2)
#%% wrong apply_rope second_term_dropped may=extrapolation
def apply_rope(x, cos, sin):
    return torch.stack((x[..., 0::2] * cos, x[..., 1::2] * cos), -1).flatten(-2)
#%% wrong apply_rope overwritten may=extrapolation
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    a = a * cos - b * sin
    b = a * sin + b * cos
    return torch.stack((a, b), -1).flatten(-2)
#%% wrong apply_rope in_place may=extrapolation
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2].clone(), x[..., 1::2].clone()
    with torch.no_grad():
        x[..., 0::2] = a * cos - b * sin
        x[..., 1::2] = a * sin + b * cos
    return x
#%% wrong apply_rope in_place_but_copied_out may=extrapolation
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    out = torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
    with torch.no_grad():
        x.zero_()
    return out
#%% wrong apply_rope along_the_heads may=extrapolation
def apply_rope(x, cos, sin):
    x = x.transpose(1, 2)
    a, b = x[..., 0::2], x[..., 1::2]
    n = min(x.shape[2], len(cos))
    c, s = torch.zeros(x.shape[2], cos.shape[1], dtype=cos.dtype) + 1, torch.zeros(x.shape[2], cos.shape[1], dtype=cos.dtype)
    c[:n], s[:n] = cos[:n], sin[:n]
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2).transpose(1, 2)
#%% wrong apply_rope broadcast_works_when_heads_is_seq may=extrapolation
def apply_rope(x, cos, sin):
    cos, sin = cos[:, None, :], sin[:, None, :]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
#%% wrong apply_rope heads_merged_before may=extrapolation
def apply_rope(x, cos, sin):
    B, H, T, D = x.shape
    flat = x.transpose(1, 2).reshape(B, T, H * D)
    a, b = flat[..., 0::2], flat[..., 1::2]
    c, s = cos.repeat_interleave(H, -1), sin.repeat_interleave(H, -1)
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2).view(B, T, H, D).transpose(1, 2)
#%% wrong apply_rope half_the_dims may=extrapolation
def apply_rope(x, cos, sin):
    n = x.shape[-1] // 2 // 2 * 2
    a, b = x[..., 0:n:2], x[..., 1:n:2]
    c, s = cos[:, :n // 2], sin[:, :n // 2]
    return torch.cat((torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2), x[..., n:]), -1)
#%% wrong apply_rope first_pair_only may=extrapolation
def apply_rope(x, cos, sin):
    out = x.clone()
    out[..., 0] = x[..., 0] * cos[:, 0] - x[..., 1] * sin[:, 0]
    out[..., 1] = x[..., 0] * sin[:, 0] + x[..., 1] * cos[:, 0]
    return out
#%% wrong apply_rope one_speed_for_all_pairs may=extrapolation
def apply_rope(x, cos, sin):
    cos, sin = cos[:, :1], sin[:, :1]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
#%% wrong apply_rope one_row_for_all_places may=extrapolation
def apply_rope(x, cos, sin):
    cos, sin = cos[-1], sin[-1]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
#%% wrong apply_rope one_place_late may=extrapolation
def apply_rope(x, cos, sin):
    cos, sin = cos.roll(1, 0), sin.roll(1, 0)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
#%% wrong apply_rope flipped may=extrapolation
def apply_rope(x, cos, sin):
    cos, sin = cos.flip(0), sin.flip(0)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
#%% wrong apply_rope tables_ignored
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = rope_frequencies(x.shape[-1], x.shape[-2])
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
#%% wrong apply_rope wraps_at_64 may=extrapolation
def apply_rope(x, cos, sin):
    rows = torch.arange(x.shape[-2]) % 64
    a, b, cos, sin = x[..., 0::2], x[..., 1::2], cos[rows], sin[rows]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
#%% wrong apply_rope half_precision may=extrapolation
def apply_rope(x, cos, sin):
    a, b, cos, sin = x[..., 0::2], x[..., 1::2], cos.half().float(), sin.half().float()
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)
#%% wrong apply_rope float32_out
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2].float(), x[..., 1::2].float()
    return torch.stack((a * cos.float() - b * sin.float(), a * sin.float() + b * cos.float()), -1).flatten(-2)
#%% wrong apply_rope detached may=extrapolation
def apply_rope(x, cos, sin):
    a, b = x.detach()[..., 0::2], x.detach()[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
#%% wrong apply_rope adds_a_sinusoid may=extrapolation
def apply_rope(x, cos, sin):
    return x + torch.stack((sin, cos), -1).flatten(-2)
#%% wrong apply_rope does_nothing may=extrapolation
def apply_rope(x, cos, sin):
    return x.clone()
#%% wrong apply_rope lengths_doubled may=extrapolation
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return 2 * torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
#%% wrong apply_rope stale_cache may=extrapolation
kept = {}
def apply_rope(x, cos, sin):
    cos, sin = kept.setdefault(tuple(cos.shape), (cos, sin))
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
#%% wrong apply_rope rows_permuted_back may=extrapolation
def apply_rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -2).flatten(-2)
#%% wrong apply_rope stub may=extrapolation
def apply_rope(x, cos, sin):
    raise NotImplementedError("your lines here")
#%% right apply_rope complex
def apply_rope(x, cos, sin):
    z = torch.view_as_complex(x.float().contiguous().unflatten(-1, (-1, 2))) * torch.complex(cos.float(), sin.float())
    return torch.view_as_real(z).flatten(-2).type_as(x)
#%% right apply_rope matrices
def apply_rope(x, cos, sin):
    m = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)      # (seq, pairs, 2, 2)
    return torch.einsum("tpij,bhtpj->bhtpi", m, x.unflatten(-1, (-1, 2))).flatten(-2)
#%% right apply_rope dense_matrices
def apply_rope(x, cos, sin):
    D = x.shape[-1]
    m = x.new_zeros(len(cos), D, D)
    i = torch.arange(0, D, 2)
    m[:, i, i], m[:, i, i + 1], m[:, i + 1, i], m[:, i + 1, i + 1] = cos.to(x), -sin.to(x), sin.to(x), cos.to(x)
    return torch.einsum("tij,bhtj->bhti", m, x)
#%% right apply_rope loop_over_pairs
def apply_rope(x, cos, sin):
    columns = []
    for i in range(x.shape[-1] // 2):
        a, b, c, s = x[..., 2 * i], x[..., 2 * i + 1], cos[:, i], sin[:, i]
        columns += [a * c - b * s, a * s + b * c]
    return torch.stack(columns, -1)
#%% right apply_rope filled_in
def apply_rope(x, cos, sin):
    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out
#%% right apply_rope pairs_flipped
def apply_rope(x, cos, sin):
    flipped = torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)
    return x * cos.repeat_interleave(2, -1) + flipped * sin.repeat_interleave(2, -1)
#%% right apply_rope by_rotate_pair
def apply_rope(x, cos, sin):
    angle = torch.atan2(sin, cos).expand(*x.shape[:-1], -1)
    return rotate_pair(x.unflatten(-1, (-1, 2)), angle).flatten(-2)
#%% right apply_rope computed_in_double
def apply_rope(x, cos, sin):
    a, b = x.double().unflatten(-1, (-1, 2)).unbind(-1)
    c, s = cos.double()[None, None], sin.double()[None, None]
    return torch.stack((a * c - b * s, b * c + a * s), -1).reshape(x.shape).to(x.dtype)
# ---------------------------------------------------------------- 04.5 b RotaryPosition
#%% wrong rotary_position q_only may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        return self.turn(q, *self.tables(q.shape[-1], q.shape[-2])), k
#%% wrong rotary_position k_only may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        return q, self.turn(k, *self.tables(q.shape[-1], q.shape[-2]))
#%% wrong rotary_position k_the_other_way may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = self.tables(q.shape[-1], q.shape[-2])
        return self.turn(q, cos, sin), self.turn(k, cos, -sin)
#%% wrong rotary_position q_and_k_swapped may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = self.tables(q.shape[-1], q.shape[-2])
        return self.turn(k, cos, sin), self.turn(q, cos, sin)
#%% wrong rotary_position q_twice may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = self.tables(q.shape[-1], q.shape[-2])
        return self.turn(q, cos, sin), self.turn(q, cos, sin)
#%% wrong rotary_position length_from_the_heads may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = self.tables(q.shape[-1], q.shape[1])
        return self.turn(q, cos, sin), self.turn(k, cos, sin)
#%% wrong rotary_position width_of_the_model may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = self.tables(q.shape[1] * q.shape[-1], q.shape[-2])
        return self.turn(q, cos[:, :q.shape[-1] // 2], sin[:, :q.shape[-1] // 2]), self.turn(k, cos[:, :q.shape[-1] // 2], sin[:, :q.shape[-1] // 2])
#%% wrong rotary_position cache_not_regrown may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn, self.kept = tables, turn, None
    def rotate(self, q, k):
        if self.kept is None:
            self.kept = self.tables(q.shape[-1], q.shape[-2])
        cos, sin = self.kept[0][:q.shape[-2]], self.kept[1][:q.shape[-2]]
        return self.turn(q, cos, sin), self.turn(k, cos, sin)
#%% wrong rotary_position tables_of_24_rows may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        rows = torch.arange(q.shape[-2]) % 4
        cos, sin = (t[rows] for t in self.tables(q.shape[-1], 24))
        return self.turn(q, cos, sin), self.turn(k, cos, sin)
#%% wrong rotary_position clamped may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = (t[torch.arange(q.shape[-2]).clamp(max=6)] for t in self.tables(q.shape[-1], max(7, q.shape[-2])))
        return self.turn(q, cos, sin), self.turn(k, cos, sin)
#%% wrong rotary_position dropped_at_evaluation may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        if not self.training:
            return q, k
        cos, sin = self.tables(q.shape[-1], q.shape[-2])
        return self.turn(q, cos, sin), self.turn(k, cos, sin)
#%% wrong rotary_position squeezed_for_k_only may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = self.tables(q.shape[-1], q.shape[-2])
        rows = torch.arange(q.shape[-2]) // 2
        return self.turn(q, cos, sin), self.turn(k, cos[rows], sin[rows])
#%% wrong rotary_position one_position_late may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = (t[1:] for t in self.tables(q.shape[-1], q.shape[-2] + 1))
        return self.turn(q, cos, sin), self.turn(k, cos, sin)
#%% wrong rotary_position detached may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = self.tables(q.shape[-1], q.shape[-2])
        with torch.no_grad():
            return self.turn(q, cos, sin), self.turn(k, cos, sin)
#%% wrong rotary_position adds_the_turned may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = self.tables(q.shape[-1], q.shape[-2])
        return q + self.turn(q, cos, sin), k + self.turn(k, cos, sin)
#%% wrong rotary_position only_k_returned may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = self.tables(q.shape[-1], q.shape[-2])
        q = self.turn(q, cos, sin)
        return self.turn(k, cos, sin)
#%% wrong rotary_position stub may=extrapolation
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        raise NotImplementedError("your lines here")
#%% right rotary_position functions_named_outright
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        cos, sin = rope_frequencies(q.shape[-1], q.shape[-2])
        return apply_rope(q, cos, sin), apply_rope(k, cos, sin)
#%% right rotary_position no_arguments_at_all
class RotaryPosition(lab.Position):
    def rotate(self, q, k):
        tables = rope_frequencies(q.size(3), q.size(2), device=q.device)
        return [apply_rope(x, *tables) for x in (q, k)]
#%% right rotary_position both_at_once
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        both = self.turn(torch.cat([q, k]), *self.tables(head_dim=q.shape[-1], seq_len=q.shape[-2]))
        return both.chunk(2)
#%% right rotary_position with_a_good_cache
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn, self.kept = tables, turn, {}
    def rotate(self, q, k):
        size = (q.shape[-1], q.shape[-2])
        if size not in self.kept:
            self.kept[size] = self.tables(*size, device=q.device)
        return tuple(self.turn(x, *self.kept[size]) for x in (q, k))
#%% right rotary_position tables_for_each
class RotaryPosition(lab.Position):
    def __init__(self, tables=rope_frequencies, turn=apply_rope):
        super().__init__(); self.tables, self.turn = tables, turn
    def rotate(self, q, k):
        import sys; print("turning", file=sys.stderr)
        def one(x):
            cos, sin = self.tables(x.shape[3], x.shape[2])
            return self.turn(x, cos, sin)
        return one(q), one(k)
# ---------------------------------------------------------------- 04.6 reach
#%% wrong reach luck_counts
def reach(loss_at, trained_len, margin=0.1):
    return max(c for c in loss_at if c >= trained_len and loss_at[c] <= loss_at[trained_len] + margin)
#%% wrong reach order_of_the_dict may=extrapolation
def reach(loss_at, trained_len, margin=0.1):
    far = trained_len
    for c in loss_at:
        if c >= trained_len:
            if loss_at[c] > loss_at[trained_len] + margin:
                break
            far = c
    return far
#%% wrong reach margin_ignored
def reach(loss_at, trained_len, margin=0.1):
    far = trained_len
    for c in sorted(c for c in loss_at if c >= trained_len):
        if loss_at[c] > loss_at[trained_len] + 0.1:
            break
        far = c
    return far
#%% wrong reach margin_zero
def reach(loss_at, trained_len, margin=0.1):
    far = trained_len
    for c in sorted(c for c in loss_at if c >= trained_len):
        if loss_at[c] > loss_at[trained_len]:
            break
        far = c
    return far
#%% wrong reach relative_margin
def reach(loss_at, trained_len, margin=0.1):
    far = trained_len
    for c in sorted(c for c in loss_at if c >= trained_len):
        if loss_at[c] > loss_at[trained_len] * (1 + margin):
            break
        far = c
    return far
#%% wrong reach against_the_one_before
def reach(loss_at, trained_len, margin=0.1):
    far = trained_len
    for c in sorted(c for c in loss_at if c >= trained_len):
        if loss_at[c] > loss_at[far] + margin:
            break
        far = c
    return far
#%% wrong reach against_the_lowest
def reach(loss_at, trained_len, margin=0.1):
    far = trained_len
    for c in sorted(c for c in loss_at if c >= trained_len):
        if loss_at[c] > min(loss_at.values()) + margin:
            break
        far = c
    return far
#%% wrong reach against_the_shortest
def reach(loss_at, trained_len, margin=0.1):
    far = trained_len
    for c in sorted(c for c in loss_at if c >= trained_len):
        if loss_at[c] > loss_at[min(loss_at)] + margin:
            break
        far = c
    return far
#%% wrong reach a_fall_counts_as_a_break
def reach(loss_at, trained_len, margin=0.1):
    far = trained_len
    for c in sorted(c for c in loss_at if c >= trained_len):
        if abs(loss_at[c] - loss_at[trained_len]) > margin:
            break
        far = c
    return far
#%% wrong reach first_that_breaks
def reach(loss_at, trained_len, margin=0.1):
    for c in sorted(c for c in loss_at if c >= trained_len):
        if loss_at[c] > loss_at[trained_len] + margin:
            return c
    return c
#%% wrong reach starts_at_the_shortest
def reach(loss_at, trained_len, margin=0.1):
    far = trained_len
    for c in sorted(loss_at):
        if loss_at[c] > loss_at[trained_len] + margin:
            break
        far = c
    return far
#%% wrong reach ratio
def reach(loss_at, trained_len, margin=0.1):
    far = trained_len
    for c in sorted(c for c in loss_at if c >= trained_len):
        if loss_at[c] > loss_at[trained_len] + margin:
            break
        far = c
    return far / trained_len
#%% wrong reach trained_24_typed_in
def reach(loss_at, trained_len, margin=0.1):
    far = 24
    for c in sorted(c for c in loss_at if c >= 24):
        if loss_at[c] > loss_at[24] + margin:
            break
        far = c
    return far
#%% wrong reach always_the_longest
def reach(loss_at, trained_len, margin=0.1):
    return max(loss_at)
#%% wrong reach always_the_trained
def reach(loss_at, trained_len, margin=0.1):
    return trained_len
#%% wrong reach the_loss_instead
def reach(loss_at, trained_len, margin=0.1):
    return max(v for v in loss_at.values() if v <= loss_at[trained_len] + margin)
#%% wrong reach stub may=extrapolation
def reach(loss_at, trained_len, margin=0.1):
    raise NotImplementedError("your lines here")
#%% right reach takewhile
from itertools import takewhile
def reach(loss_at, trained_len, margin=0.1):
    limit = loss_at[trained_len] + margin
    return max(takewhile(lambda c: loss_at[c] <= limit, sorted(c for c in loss_at if c >= trained_len)))
#%% right reach first_break_then_below
def reach(loss_at, trained_len, margin=0.1):
    breaks = [c for c in loss_at if c > trained_len and loss_at[c] - loss_at[trained_len] > margin]
    first = min(breaks, default=float("inf"))
    return max(c for c in loss_at if trained_len <= c < first)
#%% right reach by_all
def reach(loss_at, trained_len, margin=0.1):
    fine = [c for c in loss_at if c >= trained_len and all(loss_at[b] <= loss_at[trained_len] + margin for b in loss_at if trained_len <= b <= c)]
    return sorted(fine)[-1]
#%% right reach recursive_with_tensors
def reach(loss_at, trained_len, margin=0.1):
    contexts = torch.tensor(sorted(c for c in loss_at if c >= trained_len))
    ok = torch.tensor([loss_at[int(c)] <= loss_at[trained_len] + margin for c in contexts]).int().cumprod(0).bool()
    return contexts[ok].max()
# ---------------------------------------------------------------- 04.6 the criterion
#%% wrong runs crops_to_the_last_24 loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [{c: lab.loss_at(m, (24,))[24] for c in lab.CONTEXTS} for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs clamps loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
import copy
clamped = copy.deepcopy(learned)
for m in clamped:
    m.position.table.data[24:] = m.position.table.data[23]
losses = {"learned": [lab.loss_at(m) for m in clamped], "rope": [lab.loss_at(m) for m in runs["rope"]]}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs wraps loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
import copy
wrapped = copy.deepcopy(learned)
for m in wrapped:
    m.position.table.data = m.position.table.data[torch.arange(192) % 24]
losses = {"learned": [lab.loss_at(m) for m in wrapped], "rope": [lab.loss_at(m) for m in runs["rope"]]}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs never_past_the_trained_length loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [lab.loss_at(m, (20, 24)) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs mean_over_all_places loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
def everywhere(m):
    with torch.no_grad():
        return {c: torch.nn.functional.cross_entropy(m(lab.test_text()[:, -c - 1:-1])[:, 3:].flatten(0, 1), lab.test_text()[:, -c:][:, 3:].flatten()).item() for c in lab.CONTEXTS}
losses = {n: [everywhere(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs other_text_at_each_length loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [{c: lab.loss_at(m, (c,), lab.k_back(512, c + 1, torch.Generator().manual_seed(c)))[c] for c in lab.CONTEXTS} for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs table_trained_at_96 loses=extrapolation
long = [lab.train(lab.batches(96), lab.Config(seed=s), lab.LearnedPosition(192, 32), "learned, 96") for s in range(3)]
runs = {"learned": long, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs rope_dropped_at_evaluation loses=extrapolation
class Dropped(RotaryPosition):
    def rotate(self, q, k):
        return super().rotate(q, k) if self.training else (q, k)
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), Dropped, "RoPE") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs typed_in loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {"learned": [{24: 0.47, 30: 1.45, 36: 2.4, 48: 3.1, 96: 3.2}] * 3, "rope": [{24: 0.47, 30: 0.48, 36: 0.5, 48: 1.6, 96: 3.5}] * 3}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs one_seed_three_times loses=extrapolation
one = lab.train(lab.batches(), lab.Config(seed=0), RotaryPosition, "RoPE")
runs = {"learned": learned, "rope": [one] * 3}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs same_seed_each_time loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=0), RotaryPosition, "RoPE") for _ in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs one_model loses=extrapolation
runs = {"learned": learned[:1], "rope": [lab.train(lab.batches(), lab.Config(seed=0), RotaryPosition, "RoPE")]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs error_swallowed_last_loss_repeated loses=extrapolation
short = [lab.train(lab.batches(), lab.Config(seed=s), lab.LearnedPosition(24, 32), "24 rows") for s in range(3)]
runs = {"learned": short, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
def careful(m):
    found, last = {}, None
    for c in lab.CONTEXTS:
        try:
            last = lab.loss_at(m, (c,))[c]
        except IndexError:
            pass
        found[c] = last
    return found
losses = {n: [careful(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs ratio_to_itself loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) / reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs reaches_typed_in loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {"learned": [24, 24, 24], "rope": [96, 96, 96]}
#%% wrong runs learned_twice loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s + 3), lab.LearnedPosition(192, 32), "RoPE?") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs swapped loses=extrapolation
runs = {"rope": learned, "learned": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs alibi_called_rope loses=extrapolation
class Penalty(lab.Position):
    def bias(self, seq):
        t = torch.arange(seq)
        return -torch.tensor([0.25, 0.0625, 0.015625, 0.00390625])[:, None, None] * (t[:, None] - t).abs()
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), Penalty, "RoPE?") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs no_position_called_learned loses=extrapolation
runs = {"learned": [lab.train(lab.batches(), lab.Config(seed=s), None, "learned?") for s in range(3)], "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs learned_untrained loses=extrapolation
runs = {"learned": [lab.train(lab.batches(), lab.Config(seed=s, steps=20), lab.LearnedPosition(192, 32), "learned") for s in range(3)], "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs rope_untrained loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s, steps=20), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs model_crops_inside loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
class Cropped(lab.TinyTransformer):
    def forward(self, ids):
        inner = super().forward(ids[:, -24:])
        return torch.cat([inner.new_zeros(len(ids), ids.shape[1] - inner.shape[1], 8), inner], 1)
for m in runs["rope"]:
    m.__class__ = Cropped
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs table_and_rope_together loses=extrapolation
class Both(RotaryPosition):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.zeros(24, 32))
    def embed(self, x):
        x = x.clone()
        x[:, :24] = x[:, :24] + self.table[:x.shape[1]]
        return x
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), Both(), "both") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs summed_losses loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [{c: v * 16 for c, v in lab.loss_at(m).items()} for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs losses_of_the_wrong_models loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in runs["rope"]] for n in runs}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% wrong runs reaches_missing loses=extrapolation
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
losses = {n: [lab.loss_at(m) for m in ms] for n, ms in runs.items()}
reaches = {"learned": [], "rope": []}
#%% wrong runs untouched loses=extrapolation
runs = {"learned": learned, "rope": []}
losses = {"learned": learned_losses, "rope": []}
reaches = {"learned": [], "rope": []}
#%% right runs loops_and_other_seeds
runs, losses, reaches = {"learned": [], "rope": []}, {"learned": [], "rope": []}, {"learned": [], "rope": []}
for s in (5, 6, 7):
    for n, p in (("learned", lab.LearnedPosition(96, 32)), ("rope", RotaryPosition())):
        runs[n].append(lab.train(lab.batches(), lab.Config(seed=s), p, n))
        losses[n].append(lab.loss_at(runs[n][-1]))
        reaches[n].append(reach(losses[n][-1], 24))
#%% right runs more_steps_and_another_rate
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s, steps=280, lr=5e-3), RotaryPosition, "RoPE") for s in range(3)]}
losses = {"learned": learned_losses, "rope": tuple(lab.loss_at(m) for m in runs["rope"])}
reaches = {n: tuple(reach(c, 24) for c in cs) for n, cs in losses.items()}
#%% right runs four_seeds_and_one_pool
pool = lab.batches()
runs = {"learned": learned, "rope": [lab.train(pool, lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(4)]}
losses = {n: [lab.loss_at(m, (*lab.CONTEXTS, 120)) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% right runs half_split_class_of_my_own
class Halves(lab.Position):
    def rotate(self, q, k):
        cos, sin = rope_frequencies(q.shape[-1], q.shape[-2])
        def turned(x):
            a, b = x.chunk(2, -1)
            return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
        return turned(q), turned(k)
runs = {"learned": learned, "rope": [lab.train(lab.batches(), lab.Config(seed=s), Halves, "RoPE") for s in range(3)]}
losses = {"learned": learned_losses, "rope": [lab.loss_at(m) for m in runs["rope"]]}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
#%% right runs a_table_by_nn_embedding_and_a_loud_ruler
import sys, warnings
class Rows(lab.Position):
    def __init__(self):
        super().__init__()
        self.rows = torch.nn.Embedding(100, 32)
    def embed(self, x):
        return x + self.rows(torch.arange(x.shape[1]))
runs = {"learned": [lab.train(lab.batches(), lab.Config(seed=s), Rows, "rows") for s in range(3)], "rope": [lab.train(lab.batches(), lab.Config(seed=s), RotaryPosition, "RoPE") for s in range(3)]}
def mine(m):
    warnings.warn("measuring"); print("measuring", file=sys.stderr)
    text = lab.test_text()
    with torch.no_grad():
        return {c: torch.nn.functional.cross_entropy(m(text[:, -c - 1:-1])[:, -16:].flatten(0, 1), text[:, -16:].flatten()).item() for c in lab.CONTEXTS}
losses = {n: [mine(m) for m in ms] for n, ms in runs.items()}
reaches = {n: [reach(c, 24) for c in cs] for n, cs in losses.items()}
# ---------------------------------------------------------------- 04.7 fault
#%% wrong fault shifted
fault = {"A": "zip back", "B": "frequencies", "C": "sign"}
#%% wrong fault a_and_c_swapped
fault = {"A": "frequencies", "B": "zip back", "C": "sign"}
#%% wrong fault overwritten_for_sign
fault = {"A": "overwritten", "B": "zip back", "C": "frequencies"}
#%% wrong fault positions_for_frequencies
fault = {"A": "sign", "B": "zip back", "C": "positions"}
#%% wrong fault positions_for_zip
fault = {"A": "sign", "B": "positions", "C": "frequencies"}
#%% wrong fault one_missing
fault = {"A": "sign", "B": "zip back"}
#%% wrong fault blank
fault = {"A": "", "B": "", "C": ""}
#%% wrong fault one_word_for_all
fault = {"A": "sign", "B": "sign", "C": "sign"}
#%% wrong fault a_list
fault = ["sign", "zip back", "frequencies"]
#%% right fault capitals_and_spaces
fault = dict(C="Frequencies", A="Sign ", B="Zip back")
#%% right fault filled_in_later
fault = {"A": "", "B": "", "C": ""}
fault["A"] = "sign"
fault["B"] = "zip back"
fault["C"] = "frequencies"
#%% wrong fault a_guess_of_the_other_three
fault = {"A": "overwritten", "B": "positions", "C": "none"}
#%% wrong fault b_and_c_swapped
fault = {"A": "sign", "B": "frequencies", "C": "zip back"}
#%% wrong fault lower_case_letters
fault = {"a": "sign", "b": "zip back", "c": "frequencies"}
#%% right fault as_the_lamps_say
fault = {"A": "", "B": "", "C": ""}
fault.update(A="sign", B="zip back", C="frequencies")
#%% right fault capitals_all
fault = {letter: word.upper() for letter, word in zip("ABC", ("sign", "zip back", "frequencies"))}
# ---------------------------------------------------------------- 04.8 alibi_bias
#%% wrong alibi_bias sign
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])[:, None, None] * (t[:, None] - t)
#%% wrong alibi_bias heads_from_0
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2 ** (-8 * h / n_heads) for h in range(n_heads)])[:, None, None] * (t[:, None] - t)
#%% wrong alibi_bias not_divided_by_heads
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2.0 ** -h for h in range(1, n_heads + 1)])[:, None, None] * (t[:, None] - t)
#%% wrong alibi_bias no_eight
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2 ** (-h / n_heads) for h in range(1, n_heads + 1)])[:, None, None] * (t[:, None] - t)
#%% wrong alibi_bias slopes_for_8_heads
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2.0 ** -h for h in range(1, 9)])[:n_heads, None, None] * (t[:, None] - t)
#%% wrong alibi_bias slopes_for_4_heads
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2.0 ** (-2 * h) for h in range(1, n_heads + 1)])[:, None, None] * (t[:, None] - t)
#%% wrong alibi_bias one_slope
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.full((n_heads, 1, 1), 2 ** (-8 / n_heads)) * (t[:, None] - t)
#%% wrong alibi_bias heads_reversed
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2 ** (-8 * h / n_heads) for h in range(n_heads, 0, -1)])[:, None, None] * (t[:, None] - t)
#%% wrong alibi_bias squared
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])[:, None, None] * (t[:, None] - t) ** 2
#%% wrong alibi_bias logarithm
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])[:, None, None] * (t[:, None] - t).abs().add(1).log()
#%% wrong alibi_bias queries_alone
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])[:, None, None] * t[:, None].expand(seq, seq)
#%% wrong alibi_bias heads_last
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -(t[:, None] - t)[..., None] * torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])
#%% wrong alibi_bias slopes_and_places_mixed
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    slopes = torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])
    return (-(t[:, None] - t).repeat(n_heads, 1) * slopes.repeat(seq)[:, None]).view(n_heads, seq, seq)
#%% wrong alibi_bias normalised_by_length
def alibi_bias(n_heads, seq):
    t = torch.arange(seq) / seq
    return -torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])[:, None, None] * (t[:, None] - t)
#%% wrong alibi_bias clipped_at_24
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])[:, None, None] * (t[:, None] - t).clamp(max=24)
#%% wrong alibi_bias clipped_at_128
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])[:, None, None] * (t[:, None] - t).clamp(max=128)
#%% wrong alibi_bias no_more_heads_than_8
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.tensor([2 ** (-8 * h / min(n_heads, 8)) for h in range(1, n_heads + 1)])[:, None, None] * (t[:, None] - t)
#%% wrong alibi_bias stub
def alibi_bias(n_heads, seq):
    raise NotImplementedError("your lines here")
#%% right alibi_bias masked_already
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    b = -torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])[:, None, None] * (t[:, None] - t)
    return b.masked_fill(t > t[:, None], float("-inf"))
#%% right alibi_bias absolute_distance
def alibi_bias(n_heads, seq):
    t = torch.arange(seq)
    return -torch.pow(2.0, -8.0 * torch.arange(1, n_heads + 1) / n_heads).view(-1, 1, 1) * (t[:, None] - t).abs()
#%% right alibi_bias one_broadcast_row
def alibi_bias(n_heads, seq):
    slopes = torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])
    return slopes[:, None, None] * (torch.arange(seq) - seq + 1)
#%% right alibi_bias row_for_each_query
def alibi_bias(n_heads, seq):
    slopes = torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])
    return slopes[:, None, None] * torch.arange(seq).expand(seq, seq)
#%% right alibi_bias loops
def alibi_bias(n_heads, seq):
    b = torch.zeros(n_heads, seq, seq)
    for h in range(n_heads):
        for i in range(seq):
            for j in range(i + 1):
                b[h, i, j] = -(2 ** (-8 * (h + 1) / n_heads)) * (i - j)
    return b
# ---------------------------------------------------------------- 04.9 unfinished_pairs
#%% wrong unfinished_pairs the_finished
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return sum(2 * torch.pi * base ** (2 * i / head_dim) <= trained_len for i in range(head_dim // 2))
#%% wrong unfinished_pairs no_two_pi
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return sum(base ** (2 * i / head_dim) > trained_len for i in range(head_dim // 2))
#%% wrong unfinished_pairs half_exponent
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return sum(2 * torch.pi * base ** (i / head_dim) > trained_len for i in range(head_dim // 2))
#%% wrong unfinished_pairs numbers_not_pairs
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return 2 * sum(2 * torch.pi * base ** (2 * i / head_dim) > trained_len for i in range(head_dim // 2))
#%% wrong unfinished_pairs over_all_dims
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return sum(2 * torch.pi * base ** (2 * i / head_dim) > trained_len for i in range(head_dim))
#%% wrong unfinished_pairs from_1
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return sum(2 * torch.pi * base ** (2 * i / head_dim) > trained_len for i in range(1, head_dim // 2 + 1))
#%% wrong unfinished_pairs half_turn
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return sum(torch.pi * base ** (2 * i / head_dim) > trained_len for i in range(head_dim // 2))
#%% wrong unfinished_pairs base_ignored
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return sum(2 * torch.pi * 10000 ** (2 * i / head_dim) > trained_len for i in range(head_dim // 2))
#%% wrong unfinished_pairs degrees
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return sum(360 * base ** (2 * i / head_dim) > trained_len for i in range(head_dim // 2))
#%% wrong unfinished_pairs share
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return sum(2 * torch.pi * base ** (2 * i / head_dim) > trained_len for i in range(head_dim // 2)) / (head_dim // 2)
#%% wrong unfinished_pairs index_of_the_first
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return min(i for i in range(head_dim) if 2 * torch.pi * base ** (2 * i / head_dim) > trained_len)
#%% wrong unfinished_pairs typed_in
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return {16: 6, 8: 3, 128: 18}.get(head_dim, 1)
#%% wrong unfinished_pairs stub
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    raise NotImplementedError("your lines here")
#%% right unfinished_pairs last_token_at_length_minus_1
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    theta = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
    return (theta * (trained_len - 1) < 2 * torch.pi).sum()
#%% right unfinished_pairs generator
import math
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return sum(1 for i in range(head_dim // 2) if 2 * math.pi / base ** (-2 * i / head_dim) > trained_len)
#%% right unfinished_pairs float32
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    theta = torch.exp(-torch.log(torch.tensor(base)) * torch.arange(0, head_dim, 2) / head_dim)
    return len([t for t in theta.tolist() if t * trained_len < 2 * 3.141592653589793])
#%% right unfinished_pairs numpy
import numpy as np
def unfinished_pairs(head_dim, trained_len, base=10000.0):
    return (2 * np.pi * base ** (np.arange(head_dim // 2) * 2 / head_dim) > trained_len).sum()
# ---------------------------------------------------------------- 04.10 tail_loss
#%% wrong tail_loss all_places
def tail_loss(logits, targets, k=16):
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()
#%% wrong tail_loss first_k
def tail_loss(logits, targets, k=16):
    return torch.nn.functional.cross_entropy(logits[:, :k].flatten(0, 1), targets[:, :k].flatten()).item()
#%% wrong tail_loss summed
def tail_loss(logits, targets, k=16):
    return torch.nn.functional.cross_entropy(logits[:, -k:].flatten(0, 1), targets[:, -k:].flatten(), reduction="sum").item()
#%% wrong tail_loss summed_over_the_tail
def tail_loss(logits, targets, k=16):
    return k * torch.nn.functional.cross_entropy(logits[:, -k:].flatten(0, 1), targets[:, -k:].flatten()).item()
#%% wrong tail_loss last_place
def tail_loss(logits, targets, k=16):
    return torch.nn.functional.cross_entropy(logits[:, -1], targets[:, -1]).item()
#%% wrong tail_loss place_k_from_the_end
def tail_loss(logits, targets, k=16):
    return torch.nn.functional.cross_entropy(logits[:, -k], targets[:, -k]).item()
#%% wrong tail_loss last_texts
def tail_loss(logits, targets, k=16):
    return torch.nn.functional.cross_entropy(logits[-k:].flatten(0, 1), targets[-k:].flatten()).item()
#%% wrong tail_loss k_ignored
def tail_loss(logits, targets, k=16):
    return torch.nn.functional.cross_entropy(logits[:, -16:].flatten(0, 1), targets[:, -16:].flatten()).item()
#%% wrong tail_loss shifted_again
def tail_loss(logits, targets, k=16):
    logits, targets = logits[:, :-1], targets[:, 1:]
    return torch.nn.functional.cross_entropy(logits[:, -k:].flatten(0, 1), targets[:, -k:].flatten()).item()
#%% wrong tail_loss base_2
def tail_loss(logits, targets, k=16):
    return torch.nn.functional.cross_entropy(logits[:, -k:].flatten(0, 1), targets[:, -k:].flatten()).item() / 0.6931
#%% wrong tail_loss probability
def tail_loss(logits, targets, k=16):
    return 1 - logits[:, -k:].softmax(-1).gather(-1, targets[:, -k:, None]).mean().item()
#%% wrong tail_loss perplexity
def tail_loss(logits, targets, k=16):
    return torch.nn.functional.cross_entropy(logits[:, -k:].flatten(0, 1), targets[:, -k:].flatten()).exp().item()
#%% wrong tail_loss softmax_over_places
def tail_loss(logits, targets, k=16):
    return -logits[:, -k:].log_softmax(1).gather(-1, targets[:, -k:, None]).mean().item()
#%% wrong tail_loss log_of_the_mean
def tail_loss(logits, targets, k=16):
    return -logits[:, -k:].softmax(-1).gather(-1, targets[:, -k:, None]).mean().log().item()
#%% wrong tail_loss stub
def tail_loss(logits, targets, k=16):
    raise NotImplementedError("your lines here")
#%% right tail_loss cross_entropy_flat
def tail_loss(logits, targets, k=16):
    return torch.nn.functional.cross_entropy(logits[:, -k:].reshape(-1, logits.shape[-1]), targets[:, -k:].reshape(-1))
#%% right tail_loss cross_entropy_transposed
def tail_loss(logits, targets, k=16):
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")[:, -k:].mean().item()
#%% right tail_loss logsumexp
def tail_loss(logits, targets, k=16):
    seq = logits.shape[1]
    l, t = logits[:, seq - k:].double(), targets[:, seq - k:]
    return float((l.logsumexp(-1) - l.gather(-1, t.unsqueeze(-1)).squeeze(-1)).mean())
#%% right tail_loss loop
import math
def tail_loss(logits, targets, k=16):
    total = 0.0
    for row, wanted in zip(logits, targets):
        for place in range(row.shape[0] - k, row.shape[0]):
            total -= math.log(row[place].softmax(-1)[wanted[place]].item())
    return total / (k * len(logits))
# ---------------------------------------------------------------- 04.11 interpolate, ntk_base
#%% wrong rescale stretched
def interpolate(theta, s):
    return theta * s
def ntk_base(base, s, head_dim):
    return base * s ** (head_dim / (head_dim - 2))
#%% wrong rescale root
def interpolate(theta, s):
    return theta / s ** 0.5
def ntk_base(base, s, head_dim):
    return base * s ** (head_dim / (head_dim - 2))
#%% wrong rescale unchanged
def interpolate(theta, s):
    return theta
def ntk_base(base, s, head_dim):
    return base * s ** (head_dim / (head_dim - 2))
#%% wrong rescale slow_pairs_only
def interpolate(theta, s):
    return torch.cat([theta[:1], theta[1:] / s])
def ntk_base(base, s, head_dim):
    return base * s ** (head_dim / (head_dim - 2))
#%% wrong rescale subtracted
def interpolate(theta, s):
    return theta - s
def ntk_base(base, s, head_dim):
    return base * s ** (head_dim / (head_dim - 2))
#%% wrong rescale always_by_2
def interpolate(theta, s):
    return theta / 2
def ntk_base(base, s, head_dim):
    return base * s ** (head_dim / (head_dim - 2))
#%% wrong rescale base_times_s
def interpolate(theta, s):
    return theta / s
def ntk_base(base, s, head_dim):
    return base * s
#%% wrong rescale exponent_upside_down
def interpolate(theta, s):
    return theta / s
def ntk_base(base, s, head_dim):
    return base * s ** ((head_dim - 2) / head_dim)
#%% wrong rescale exponent_sign
def interpolate(theta, s):
    return theta / s
def ntk_base(base, s, head_dim):
    return base * s ** (-head_dim / (head_dim - 2))
#%% wrong rescale exponent_minus_one
def interpolate(theta, s):
    return theta / s
def ntk_base(base, s, head_dim):
    return base * s ** (head_dim / (head_dim - 1))
#%% wrong rescale pairs_in_place_of_dims
def interpolate(theta, s):
    return theta / s
def ntk_base(base, s, head_dim):
    return base * s ** (head_dim / 2 / (head_dim / 2 - 2 + 1e-9))
#%% wrong rescale power_of_both
def interpolate(theta, s):
    return theta / s
def ntk_base(base, s, head_dim):
    return (base * s) ** (head_dim / (head_dim - 2))
#%% wrong rescale base_unchanged
def interpolate(theta, s):
    return theta / s
def ntk_base(base, s, head_dim):
    return base
#%% wrong rescale stub
def interpolate(theta, s):
    raise NotImplementedError("your lines here")
def ntk_base(base, s, head_dim):
    raise NotImplementedError("your lines here")
#%% right rescale logarithms
import math
def interpolate(theta, s):
    return (1 / s) * theta
def ntk_base(base, s, head_dim):
    return math.exp(math.log(base) + head_dim / (head_dim - 2) * math.log(s))
#%% right rescale from_the_last_speed
def interpolate(theta, s):
    return torch.div(theta, torch.as_tensor(s))
def ntk_base(base, s, head_dim):
    last = base ** (-(head_dim - 2) / head_dim) / s
    return last ** (-head_dim / (head_dim - 2))
#%% right rescale tensors
def interpolate(theta, s):
    return torch.stack([t / s for t in theta])
def ntk_base(base, s, head_dim):
    return torch.tensor(base, dtype=torch.float64) * torch.tensor(float(s), dtype=torch.float64) ** (head_dim / (head_dim - 2))
#%% right rescale bisection
def interpolate(theta, s):
    return theta.double().div(s).to(theta.dtype)
def ntk_base(base, s, head_dim):
    power, low, high = (head_dim - 2) / head_dim, base, base * s ** 2 + 1
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle ** power < s * base ** power else (low, middle)
    return low
