"""Public implementations in the place of a student's. `right`: accepted as it is. `wrong`: another convention; the comment says which."""
#%% right rope_frequencies rotary_embedding_torch
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    from rotary_embedding_torch import RotaryEmbedding
    if head_dim == 2:       # its rescaling of the base divides by dim - 2
        angle = torch.arange(seq_len, device=device).float()[:, None]
        return angle.cos(), angle.sin()
    angle = RotaryEmbedding(dim=head_dim, theta=base).to(device)(torch.arange(seq_len, device=device))[:, ::2].detach()
    return angle.cos(), angle.sin()
#%% right rope_frequencies x_transformers
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    from x_transformers.x_transformers import RotaryEmbedding
    if head_dim == 2:       # its rescaling of the base divides by dim - 2
        angle = torch.arange(seq_len, device=device).float()[:, None]
    else:
        angle = RotaryEmbedding(head_dim, base=base).to(device).forward_from_seq_len(seq_len)[0][0, :, ::2]
    return angle.cos(), angle.sin()
#%% right rope_frequencies transformers_llama
def rope_frequencies(head_dim, seq_len, base=10000.0, device="cpu"):
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
    config = LlamaConfig(hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim, rope_parameters={"rope_type": "default", "rope_theta": base})
    cos, sin = LlamaRotaryEmbedding(config).to(device)(torch.zeros(1, device=device), torch.arange(seq_len, device=device)[None])
    return cos[0, :, :head_dim // 2], sin[0, :, :head_dim // 2]
#%% right apply_rope rotary_embedding_torch
def apply_rope(x, cos, sin):
    from rotary_embedding_torch import apply_rotary_emb
    angle = torch.atan2(sin, cos)       # it wants angles, each twice
    return apply_rotary_emb(angle.repeat_interleave(2, dim=-1), x)
#%% right apply_rope x_transformers
def apply_rope(x, cos, sin):
    from x_transformers.x_transformers import apply_rotary_pos_emb
    angle = torch.atan2(sin, cos)
    return apply_rotary_pos_emb(x, angle.repeat_interleave(2, dim=-1)[None])
#%% right apply_rope transformers_gptj
def apply_rope(x, cos, sin):
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb
    return apply_rotary_pos_emb(x.transpose(1, 2), sin[None], cos[None]).transpose(1, 2).to(x.dtype)      # (batch, seq, heads, head_dim)
#%% wrong apply_rope transformers_llama_halves
# Llama turns feature i together with feature i + head_dim / 2. The exercise turns neighbours, as the paper writes it.
def apply_rope(x, cos, sin):
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
    both = [torch.cat((t, t), dim=-1)[None] for t in (cos, sin)]
    return apply_rotary_pos_emb(x, x, *both)[0]
#%% right apply_rope transformers_llama_features_sorted
def apply_rope(x, cos, sin):
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
    sort = torch.cat((torch.arange(0, x.shape[-1], 2), torch.arange(1, x.shape[-1], 2)))
    both = [torch.cat((t, t), dim=-1)[None] for t in (cos, sin)]
    return apply_rotary_pos_emb(x[..., sort], x[..., sort], *both)[0][..., sort.argsort()].to(x.dtype)
#%% right alibi_bias x_transformers
def alibi_bias(n_heads, seq):
    from x_transformers.x_transformers import AlibiPositionalBias
    return AlibiPositionalBias(n_heads)(seq, seq)
#%% right alibi_bias transformers_bloom
def alibi_bias(n_heads, seq):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    by_key = build_alibi_tensor(torch.ones(1, seq, dtype=torch.long), n_heads, torch.float32)     # (n_heads, 1, seq): grows with the key's place
    return by_key - by_key.transpose(1, 2)      # the same after a softmax: each row is moved by a constant
