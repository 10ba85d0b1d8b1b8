"""Packages that only training, or only some models, need."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ..errors import ConfigError


def needed(module: str, package: str, what: str) -> ModuleType:
    """Return a module of a package that may not be installed.

    Args:
        module: ``sklearn.svm``.
        package: What to install: ``scikit-learn``.
        what: What needs it, for the message.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise ConfigError(
            f"{what}: {package} is not installed; pip install {package}"
        ) from None
