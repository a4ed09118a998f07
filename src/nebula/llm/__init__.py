"""Speaking to models: one small contract, its connectors, a dialect for models without tool calls, a replay.

Import what you need from the modules themselves (`nebula.llm.contract`, `nebula.llm.catalog`, …): this package
imports nothing, so that a start pays only for the connector it uses.
"""
