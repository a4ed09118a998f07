"""axe-core in the page: what it finds that has weight, and the looks in which it is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

AXE = (Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
FIND = """async () => {
    const fading = document.getAnimations().filter((each) => Number.isFinite(each.effect.getComputedTiming().endTime));
    await Promise.allSettled(fading.map((each) => each.finished));
    const { violations } = await axe.run();
    return violations.filter((each) => ["moderate", "serious", "critical"].includes(each.impact))
        .map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`);
}"""
"""What it finds once nothing fades any more: a colour on its way is no colour to be read in."""
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1400, "height": 900}},
    "dark": {"viewport": {"width": 1400, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 800}, "has_touch": True},
    "japanese": {"viewport": {"width": 1400, "height": 900}, "locale": "ja-JP"},
}
