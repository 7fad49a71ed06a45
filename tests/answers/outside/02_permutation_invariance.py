"""Public implementations in the place of a student's. `right`: accepted as it is. `wrong`: another convention; the comment says which."""
#%% right attend torch_scaled_dot_product_attention
def attend(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
#%% right attend x_transformers_attend
from x_transformers.attend import Attend
def attend(q, k, v):
    out, _ = Attend(causal=False, flash=False)(q[:, None], k[:, None], v[:, None])
    return out[:, 0]
#%% right attend transformers_llama_eager
import types
from transformers.models.llama.modeling_llama import eager_attention_forward
def attend(q, k, v):
    module = types.SimpleNamespace(num_key_value_groups=1, training=False)
    out, _ = eager_attention_forward(module, q[:, None], k[:, None], v[:, None], None, scaling=q.shape[-1] ** -0.5)
    return out[:, :, 0]     # (B, T, heads, head_dim)
#%% wrong attend x_transformers_causal
# x-transformers trains language models: with causal=True a token does not see later ones. The exercise has no mask.
from x_transformers.attend import Attend
def attend(q, k, v):
    out, _ = Attend(causal=True, flash=False)(q[:, None], k[:, None], v[:, None])
    return out[:, 0]
#%% right split_heads einops
from einops import rearrange
def split_heads(x, n_heads):
    return rearrange(x, "b t (h d) -> b h t d", h=n_heads)
def merge_heads(x):
    return rearrange(x, "b h t d -> b t (h d)")
#%% right multihead torch_multihead_attention
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.inner = torch.nn.MultiheadAttention(d_model, n_heads, bias=False, batch_first=True)
    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]
#%% wrong multihead x_transformers_attention
# x-transformers leaves the map on the output out where there is one head of full width. The exercise has it always.
from x_transformers.x_transformers import Attention
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.inner = Attention(d_model, dim_head=d_model // n_heads, heads=n_heads)
    def forward(self, x):
        return self.inner(x)
#%% right multihead x_transformers_attention_with_output_map
from x_transformers.x_transformers import Attention
class MultiHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.inner = Attention(d_model, dim_head=d_model // n_heads, heads=n_heads)
        if n_heads == 1:
            self.inner.to_out = torch.nn.Linear(d_model, d_model, bias=False)
    def forward(self, x):
        return self.inner(x)
