"""A model around another one: its replies differ, all else is the other's."""

from __future__ import annotations

from nebula.llm.contract import Model, ModelInfo


class WrappedModel:
    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def provider(self) -> str:
        return self._model.provider

    async def list_models(self) -> list[ModelInfo]:
        return await self._model.list_models()

    async def describe(self, model: str) -> ModelInfo:
        return await self._model.describe(model)

    async def aclose(self) -> None:
        await self._model.aclose()
