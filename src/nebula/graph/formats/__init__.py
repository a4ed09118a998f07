"""The text formats: node XML, flow YAML."""
