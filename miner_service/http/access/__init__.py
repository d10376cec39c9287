"""What a request passes before its endpoint: rates, its token, who may see what, its body."""
