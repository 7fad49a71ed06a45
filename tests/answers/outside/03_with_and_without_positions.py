"""Public implementations in the place of a student's. `right`: accepted as it is. `wrong`: another convention; the comment says which."""
#%% right LearnedPosition transformers_gpt2_wpe
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        from transformers import GPT2Config
        from transformers.models.gpt2.modeling_gpt2 import GPT2Model
        self.wpe = GPT2Model(GPT2Config(vocab_size=1, n_embd=d_model, n_layer=0, n_head=1, n_positions=max_len)).wpe
    def embed(self, x):
        return x + self.wpe(torch.arange(x.shape[1]))
#%% wrong LearnedPosition transformers_opt_offset_by_two loses=test_learned_position may=gap
# OPT keeps its first two rows for padding: place 0 is row 2, and the table has two rows more than places.
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding
        self.inner = OPTLearnedPositionalEmbedding(max_len, d_model)
    def embed(self, x):
        return x + self.inner(torch.ones(x.shape[:2], dtype=torch.long))
#%% wrong LearnedPosition x_transformers_scaled loses=test_learned_position may=gap
# x-transformers multiplies the rows by d_model ** -0.5 before it adds them. The exercise adds them as they are.
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        from x_transformers.x_transformers import AbsolutePositionalEmbedding
        self.inner = AbsolutePositionalEmbedding(d_model, max_len)
    def embed(self, x):
        return x + self.inner(x)
#%% right LearnedPosition x_transformers_scale_undone
class LearnedPosition(Position):
    def __init__(self, max_len, d_model):
        super().__init__()
        from x_transformers.x_transformers import AbsolutePositionalEmbedding
        self.inner = AbsolutePositionalEmbedding(d_model, max_len)
        self.inner.scale = 1.0
    def embed(self, x):
        return x + self.inner(x)
#%% wrong sinusoidal transformers_marian_halves may=test_shift_matrix
# Marian puts all sines before all cosines. The exercise wants them in turn, as the paper of 2017 writes them.
def sinusoidal(seq, d_model, base=10000.0):
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
    return MarianSinusoidalPositionalEmbedding(seq, d_model).create_weight()
#%% right sinusoidal x_transformers_in_turn
def sinusoidal(seq, d_model, base=10000.0):
    from x_transformers.x_transformers import ScaledSinusoidalEmbedding
    layer = ScaledSinusoidalEmbedding(d_model, theta=base)
    halves = (layer(torch.zeros(1, seq, d_model)) / layer.scale).detach()
    return torch.stack(halves.chunk(2, dim=-1), dim=-1).flatten(-2)
