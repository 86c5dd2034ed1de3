"""The texts of the prompts, as Markdown beside this file; ``evolution.llm.prompt`` fills them in.

The first line of each is its version, like ``version: mutate-1``: raise the number with every change that is more than
spelling. What a model is told decides what it writes, so the version is stored with every call.
"""
