"""Import packages that only training or only some models need."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from deid_core.errors import ConfigError


def needed(module: str, package: str, what: str) -> ModuleType:
    """Return a module of an optional package.

    Args:
        module: ``sklearn.svm``.
        package: The name to install: ``scikit-learn``.
        what: What needs it, for the message.

    Raises:
        ConfigError: The package is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise ConfigError(
            f"{what}: {package} is not installed; pip install 'phistream[train]'"
        ) from None
