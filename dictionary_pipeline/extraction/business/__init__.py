"""Business entities by a language model: text units, prompts, answers, validation, resolution, merge."""
