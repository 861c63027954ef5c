"""Entity-relationship diagrams as SVG, one per subject area."""
