terraform {
  required_providers {
    restapi = {
      source  = "Mastercard/restapi"
      version = "~> 3.0"
    }
  }
}

variable "admin_url" {
  description = "The admin listener, such as https://admin.example.com"
  type        = string
}

variable "admin_key" {
  description = "The admin key of an operator who is an admin"
  type        = string
  sensitive   = true
}

provider "restapi" {
  uri          = var.admin_url
  bearer_token = var.admin_key
  # The only answer that has the secret.
  create_returns_object = true
}

locals {
  managed_by = "terraform"

  # Every field that can be set: for the provider, one that is missing here has changed.
  suites = {
    orders  = { name = "Orders API", labels = { owner = "shop-team" }, note = "" }
    reports = { name = "Reports API", labels = {}, note = "" }
  }

  applications = {
    warehouse = {
      name            = "Warehouse"
      developer_email = "dev@partner.example"
      status          = "active"
      suites          = ["orders"]
      labels          = { environment = "production" }
      note            = "Call +49 30 1234567 first."
      quota           = 3600
    }
    night-reports = {
      name            = "Night reports"
      developer_email = "data@partner.example"
      status          = "suspended"
      suites          = ["orders", "reports"]
      labels          = {}
      note            = ""
      quota           = null
    }
  }
}

resource "restapi_object" "suite" {
  for_each = local.suites

  path          = "/admin/v1/suites"
  id_attribute  = "id"
  update_method = "PATCH"
  # What only the server sets. (With ignore_server_additions, the provider would not see any drift.)
  ignore_changes_to = ["created_at", "applied_at", "secrets"]
  data              = jsonencode(merge(each.value, { id = each.key, managed_by = local.managed_by }))
  # The id cannot be changed, so it is refused in a change.
  update_data = jsonencode(merge(each.value, { managed_by = local.managed_by }))
}

resource "restapi_object" "application" {
  for_each = local.applications

  path              = "/admin/v1/applications"
  id_attribute      = "client_id"
  ignore_changes_to = ["created_at", "applied_at", "secrets", "tokens_valid_from", "last_token_at"]
  data              = jsonencode(merge(each.value, { client_id = each.key, managed_by = local.managed_by }))
  update_data       = jsonencode(merge(each.value, { managed_by = local.managed_by }))

  depends_on = [restapi_object.suite]
}

output "client_secrets" {
  description = "The secrets that were made when an application was registered"
  sensitive   = true
  value       = { for id, application in restapi_object.application : id => jsondecode(application.create_response).client_secret }
}
