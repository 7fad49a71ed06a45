"""Public implementations in the place of a student's. `right`: accepted as it is. `wrong`: another convention; the comment says which."""
#%% right lookup torch_functional_embedding
def lookup(table, ids):
    return torch.nn.functional.embedding(ids, table)
#%% wrong lookup torch_from_pretrained
# from_pretrained makes a Parameter of its own: the numbers are right, and no gradient reaches the table that was handed in.
def lookup(table, ids):
    return torch.nn.Embedding.from_pretrained(table, freeze=False)(ids)
#%% right lookup x_transformers
from x_transformers.x_transformers import TokenEmbedding
def lookup(table, ids):
    layer = TokenEmbedding(table.shape[1], len(table)).to(table.dtype)
    return torch.func.functional_call(layer, {"emb.weight": table}, (ids,))
#%% right lookup transformers_gpt2
from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Model
def lookup(table, ids):
    model = GPT2Model(GPT2Config(vocab_size=len(table), n_embd=table.shape[1], n_layer=0, n_head=1)).to(table.dtype)
    return torch.func.functional_call(model.get_input_embeddings(), {"weight": table}, (ids,))
#%% right tied_head torch_linear_weight_tying
class TiedHead(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.head = nn.Linear(table.weight.shape[1], len(table.weight), bias=False)
        self.head.weight = table.weight
    def forward(self, x):
        return self.head(x)
